// Decisions of a worker: working memory that is used again, and what has to last until an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/gate/decision_context.h"
#include "headgate/gate/waiting.h"
#include "headgate/server/answers.h"
#include "headgate/server/job.h"
#include "headgate/server/policy_snapshot.h"

namespace headgate::server {

class DecisionJobs;

// What the decision log says of a request, which need not last until its decision.
struct RequestNote {
  bool known = false;  // false: the log is not used, or the door has no request of HTTP
  std::string method;
  std::string host;
  std::string path;
  std::string client;
};

class DecisionJob final : public Job {
 public:
  DecisionJob(Answers& answers, DecisionJobs& from) : Job(answers), from_(from) {}

  gate::DecisionContext decision;
  const PolicySnapshot* snapshot = nullptr;  // that decides
  Instant began;                             // by the clock of WorkerContext::now()
  RequestNote note;
  std::shared_ptr<const void> limits;  // that came with the request: last until the answer
  // Of a request of Envoy with several descriptors that were decided as one check: by descriptor,
  // the index of its result. Otherwise empty: they are in the same order.
  std::vector<std::uint8_t> result_of;

  // After the decision: its request if that waits here (gate::Waits::here), and none if it was
  // taken before.
  [[nodiscard]] gate::Waiting take_waiting() noexcept;

  // A slot that was taken for an auth query without a client would be taken until its lease ends.
  void undo() noexcept override;

 private:
  friend class DecisionJobs;

  void end() noexcept override;

  DecisionJobs& from_;
  std::shared_ptr<const PolicySnapshot> keeps_;  // `snapshot`, while it is lent
  std::unique_ptr<DecisionJob> next_;            // among those that are free
};

// With a store that completes at once, there is one job. Not thread-safe.
class DecisionJobs {
 public:
  // Throws std::bad_alloc.
  explicit DecisionJobs(Answers& answers);

  // Returns a job that is free until it is lent, or nullptr if too many answers are outstanding.
  // Throws std::bad_alloc.
  [[nodiscard]] DecisionJob* spare();

  // The spare job, whose decision is outstanding, waits; `snapshot` is the one that decides.
  [[nodiscard]] Job::Held<DecisionJob> lend(std::shared_ptr<const PolicySnapshot> snapshot,
                                            Resume then) noexcept;
  void give_back(DecisionJob* job) noexcept;

 private:
  // After so many answers, half of the jobs that were free all the time are released. A job takes
  // about 3 KiB, or 64 KiB if many policies apply: as many are kept as the load needs.
  static constexpr std::size_t period = 4096;

  void release_unused() noexcept;

  Answers& answers_;
  std::unique_ptr<DecisionJob> free_;
  std::size_t free_count_ = 1;
  std::size_t free_least_ = 1;  // in this period
  std::size_t answered_ = 0;    // in this period
};

}  // namespace headgate::server
