// One simulation of access logs: reads them, replays them through policies, and makes of that the
// summary, the report, the decisions and the suggested quotas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/complaints.h"
#include "headgate/sim/log/line_reader.h"
#include "headgate/sim/log/lines.h"
#include "headgate/sim/log/sorter.h"
#include "headgate/sim/log/traffic.h"
#include "headgate/sim/report/comparison.h"
#include "headgate/sim/report/report.h"
#include "headgate/sim/scenario.h"
#include "headgate/sim/suggestion.h"
#include "headgate/sim/summary.h"
#include "headgate/sim/variant.h"

namespace headgate::sim {

struct SimulationOptions {
  std::size_t memory = 0;  // for the state of all keys in one replay [bytes]
  bool decisions = false;  // write_decisions() will be called
  bool report = false;     // report() will be called
};

// The order of calls: read() for each log, finish_reading(), replay(), then what is wanted of
// text() or json(), suggest(), report() and write_decisions(). An error is a message for people
// that says what failed; after it only the destructor may be called. Not thread-safe.
class Simulation {
 public:
  // Called every few thousand lines or requests: `step` names the work, `done` of `all` lines,
  // requests or bytes are done (`all` 0: unknown).
  using OnProgress =
      std::function<void(const std::string& step, std::uint64_t done, std::uint64_t all)>;

  // `base` is what report() and suggest() are about. replay() compares `variants`, at least one;
  // decisions are those of the first.
  Simulation(std::shared_ptr<const policy::PolicySet> base, std::vector<Variant> variants,
             SimulationOptions options, OnProgress on_progress);

  // The header fields that a reader of logs must fill in.
  [[nodiscard]] const std::vector<WantedHeader>& wanted_headers() const noexcept {
    return traffic_.layout().headers;
  }

  // Reads one log to its end. `name` stands for the file in complaints and in progress.
  [[nodiscard]] Result<void, std::string> read(Lines& lines, LineReader& reader,
                                               const std::string& name, const Complain& complain);
  // Fails if all lines of all logs were skipped.
  [[nodiscard]] Result<void, std::string> finish_reading();

  // Replays all requests through all variants.
  [[nodiscard]] Result<void, std::string> replay();

  // The summary of the only variant, or the comparison of all. For people, or as one line of JSON.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;

  // The page of `headgate simulate --report`. Replays the traffic again: once for the profile, once
  // for each policy under other algorithms, and once for the clients that were denied most. `logs`
  // and `config` name what was replayed.
  [[nodiscard]] Result<std::string, std::string> report(std::string logs, std::string config,
                                                        std::vector<SuggestedQuotas> suggestions);

  // Suggests quotas for one policy, or for all that are not off. Frees the summaries first, to have
  // the memory: text() and json() must not be called afterwards.
  [[nodiscard]] Result<std::vector<Suggestion>, std::string> suggest(
      Share share, std::optional<std::size_t> policy);

  // Writes a line of JSON per line of the logs, in their order. To be called once.
  [[nodiscard]] Result<void, std::string> write_decisions(std::ostream& out);

  [[nodiscard]] const Traffic& traffic() const noexcept { return traffic_; }
  // Decisions on keys that found no room, in all replays so far. They may have been too strict.
  [[nodiscard]] std::uint64_t unkept() const noexcept { return unkept_; }

 private:
  // Adds the totals of `policy` under each algorithm that it can have.
  [[nodiscard]] Result<void, std::string> try_algorithms(const policy::Policy& policy,
                                                         std::vector<UnderAlgorithm>& all);
  [[nodiscard]] Result<Summary, std::string> profile_traffic(TrafficProfile& profile);
  [[nodiscard]] Result<std::vector<UnderAlgorithm>, std::string> compare_algorithms(
      const Summary& summary);
  [[nodiscard]] Result<std::vector<ClientTrace>, std::string> trace_most_denied(
      const Summary& summary);

  // A scenario with 1/`count` of the memory, because so many are open at the same time.
  [[nodiscard]] Result<std::unique_ptr<Scenario>, std::string> open_scenario(
      const std::shared_ptr<const policy::PolicySet>& policies, std::size_t count,
      Watch watch) const;
  // Calls act(Instant, const LoggedRequest&) for each request, and reports progress on `step`.
  template <class Act>
  [[nodiscard]] Result<void, std::string> replay_all(const std::string& step, const Act& act) const;
  [[nodiscard]] std::vector<Compared> compared() const;

  std::shared_ptr<const policy::PolicySet> base_;
  std::vector<Variant> variants_;
  SimulationOptions options_;
  OnProgress on_progress_;
  Traffic traffic_;
  Sorter decisions_;                // by the line's number
  std::vector<Summary> summaries_;  // of the variants
  std::uint64_t unkept_ = 0;
};

}  // namespace headgate::sim
