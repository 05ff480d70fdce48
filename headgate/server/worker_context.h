// The state that a thread of the server needs to decide.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "headgate/base/writer.h"
#include "headgate/gate/decision_line.h"
#include "headgate/gate/decision_sampler.h"
#include "headgate/gate/field_writer.h"
#include "headgate/policy/request.h"
#include "headgate/server/answers.h"
#include "headgate/server/decision_job.h"
#include "headgate/server/engine.h"
#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {

// One per Worker. Not thread-safe, except stats() const.
class WorkerContext {
 public:
  explicit WorkerContext(Engine& engine);
  ~WorkerContext();
  WorkerContext(const WorkerContext&) = delete;
  WorkerContext& operator=(const WorkerContext&) = delete;

  [[nodiscard]] Engine& engine() noexcept { return engine_; }

  // Returns the policies in force now. Ends the life of the snapshot that was returned before if
  // another one is in force, and of decisions that point into it and were not lent.
  [[nodiscard]] const PolicySnapshot& in_force();

  // A decision of a door goes like this: begin(); a function of job->snapshot's gate, with
  // moment() as its time and job->begin() as its completion; if the job is not decided then,
  // lend(), and the rest when `then` is called; write_fields(); record().

  // Begins a decision, of the policies in force now. The job is free until it is lent. nullptr:
  // too many decisions wait for the store, see too_many_wait. Throws std::bad_alloc.
  [[nodiscard]] DecisionJob* begin();
  // The same for a settlement; nullptr also if too many of those wait.
  [[nodiscard]] DecisionJob* begin_settlement();
  static constexpr std::string_view too_many_wait = "too many decisions wait for the store";
  // The time as of which the store decides, if that is not its own.
  [[nodiscard]] std::optional<Instant> moment(const DecisionJob& job) const noexcept {
    return answers_.come_later() ? std::nullopt : std::optional(job.began);
  }
  // Notes what the decision log says of a request, if it is used. Throws std::bad_alloc.
  static void note(DecisionJob& job, const policy::Request& request);
  // The decision of begin() is outstanding.
  [[nodiscard]] Job::Held<DecisionJob> lend(Resume then) noexcept {
    return jobs_.lend(in_force_, then);
  }
  // Writes the header fields of its answer, and counts those that do not fit.
  [[nodiscard]] gate::Lines write_fields(const DecisionJob& job, Writer& out) noexcept {
    const gate::Lines lines =
        job.snapshot->gate().field_writer().write(job.decision.verdict.items, out);
    stats_.left_out(lines.left_out());
    return lines;
  }
  // Records a decision in the statistics and the decision log, with the time from begin() until
  // now.
  void record(DoorKind door, const DecisionJob& job) noexcept {
    const Instant now = this->now();
    stats_.decided(door, *job.snapshot, job.decision, now, now.ns - job.began.ns);
    if (job.decision.verdict.refusal == policy::Refusal::too_many) report_too_many(now);
    if (job.snapshot->policies().settings().decisions) log(door, job);
  }
  // Logs a decision that no policy of the file made. `key`: as the store takes it.
  void log(DoorKind door, const PolicySnapshot& snapshot, gate::LoneDecision decision,
           std::string_view key) noexcept;

  [[nodiscard]] Answers& answers() noexcept { return answers_; }

  // The table's clock.
  [[nodiscard]] Instant now() const noexcept { return engine_.table().now(); }

  // Statistics of this worker's decisions and connections.
  [[nodiscard]] DecisionStats& stats() noexcept { return stats_; }
  [[nodiscard]] const DecisionStats& stats() const noexcept { return stats_; }

 private:
  void log(DoorKind door, const DecisionJob& job) noexcept;
  // Logs that a request was denied because it has too many policies, now and then.
  void report_too_many(Instant now) noexcept;

  Engine& engine_;
  std::shared_ptr<const PolicySnapshot> in_force_;
  DecisionStats stats_;
  gate::DecisionSampler sampler_;
  std::optional<Instant> reported_too_many_;
  DecisionJobs jobs_;
  Answers answers_;  // ends first: then no job is lent any more
};

}  // namespace headgate::server
