#include "headgate/sim/simulation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "headgate/policy/algorithm.h"
#include "headgate/sim/answer.h"
#include "headgate/sim/report/log_summary.h"
#include "headgate/store/table.h"

namespace headgate::sim {
namespace {

using limit::Algorithm;

// A report compares the algorithms of so many policies: each of them replays the whole traffic once
// more. More figures than these would not be read, either.
constexpr std::size_t policies_under_algorithms_max = 16;

// Decisions in memory before they go to a temporary file [bytes]: about 200,000 of them. Logs of
// that length are sorted without a file, and the traffic's own 96 MiB stay the larger part.
constexpr std::size_t decisions_memory = std::size_t{32} << 20;

// Requests between two reports of progress: some milliseconds, well below what eyes notice.
constexpr std::uint64_t requests_between_progress = 4096;

constexpr Algorithm algorithms_compared[] = {
    Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
    Algorithm::sliding_window_counter, Algorithm::moving_window};

// What of a request the policies of any variant look up, and the path if a report will show it.
policy::FieldsUsed fields_used(const std::vector<Variant>& variants, bool report) {
  policy::FieldsUsed all;
  for (const Variant& variant : variants) all.add(variant.policies->fields_used());
  all.path |= report;
  return all;
}

}  // namespace

Simulation::Simulation(std::shared_ptr<const policy::PolicySet> base, std::vector<Variant> variants,
                       SimulationOptions options, OnProgress on_progress)
    : base_(std::move(base)),
      variants_(std::move(variants)),
      options_(options),
      on_progress_(std::move(on_progress)),
      traffic_(fields_used(variants_, options.report)),
      decisions_(decisions_memory) {}

Result<void, std::string> Simulation::read(Lines& lines, LineReader& reader,
                                           const std::string& name, const Complain& complain) {
  const auto on_skip = [this](std::uint64_t line, std::string_view why) {
    if (!options_.decisions) return Result<void, std::string>();
    return decisions_.add(static_cast<std::int64_t>(line), error_json(std::string(why)));
  };
  const std::string step = "reading " + name;
  const auto on_progress = [&](const Source& source) {
    on_progress_(step, source.position(), source.size());
  };
  return traffic_.read(lines, reader, name, complain, on_skip, on_progress);
}

Result<void, std::string> Simulation::finish_reading() {
  traffic_.finish();
  if (traffic_.requests() == 0 && traffic_.skipped() > 0) {
    return Failure<std::string>("no line could be read");
  }
  return {};
}

Result<void, std::string> Simulation::replay() {
  std::vector<std::unique_ptr<Scenario>> scenarios;
  for (const Variant& variant : variants_) {
    auto scenario = open_scenario(variant.policies, variants_.size(), {});
    if (!scenario) return Failure<std::string>(scenario.error());
    scenarios.push_back(std::move(*scenario));
    scenarios.back()->summary().skip(traffic_.skipped());
  }
  Result<void, std::string> kept;
  auto replayed = replay_all("replaying", [&](Instant at, const LoggedRequest& request) {
    for (const auto& scenario : scenarios) scenario->play(request, at);
    if (options_.decisions && kept) {
      kept = decisions_.add(static_cast<std::int64_t>(request.line()),
                            decision_json(scenarios.front()->answers(), false));
    }
  });
  for (const auto& scenario : scenarios) {
    unkept_ += scenario->unkept();
    summaries_.push_back(scenario->take_summary());
  }
  return replayed ? kept : replayed;
}

std::string Simulation::text() const {
  const Summary& first = summaries_.front();
  return log_headline(first) + '\n' +
         (summaries_.size() > 1 ? comparison_text(compared()) : log_summary_text(first));
}

std::string Simulation::json() const {
  return summaries_.size() > 1 ? comparison_json(compared()) : summaries_.front().json();
}

Result<std::string, std::string> Simulation::report(std::string logs, std::string config,
                                                    std::vector<SuggestedQuotas> suggestions) {
  TrafficProfile profile(traffic_.first(), traffic_.last());
  const auto summary = profile_traffic(profile);
  if (!summary) return Failure<std::string>(summary.error());
  auto algorithms = compare_algorithms(*summary);
  if (!algorithms) return Failure<std::string>(algorithms.error());
  auto traces = trace_most_denied(*summary);
  if (!traces) return Failure<std::string>(traces.error());
  return report_html({std::move(logs), std::move(config), &*summary, &profile,
                      std::move(*algorithms), std::move(*traces), std::move(suggestions)});
}

Result<Summary, std::string> Simulation::profile_traffic(TrafficProfile& profile) {
  const auto scenario = open_scenario(base_, 1, {.measure = Measure::all});
  if (!scenario) return Failure<std::string>(scenario.error());
  (*scenario)->summary().skip(traffic_.skipped());
  const auto replayed =
      replay_all("replaying for the report", [&](Instant at, const LoggedRequest& request) {
        (*scenario)->play(request, at);
        profile.add(**scenario, request, at);
      });
  if (!replayed) return Failure<std::string>(replayed.error());
  return (*scenario)->take_summary();
}

Result<std::vector<UnderAlgorithm>, std::string> Simulation::compare_algorithms(
    const Summary& summary) {
  std::vector<UnderAlgorithm> all;
  std::size_t policies = 0;
  for (const policy::Policy& policy : base_->policies()) {
    const bool no_requests = summary.totals(policy.index).partitions == 0;
    if (policy.mode == policy::Mode::off || no_requests) continue;
    if (policies == policies_under_algorithms_max) break;
    const std::size_t before = all.size();
    if (auto tried = try_algorithms(policy, all); !tried) {
      return Failure<std::string>(tried.error());
    }
    if (all.size() > before) ++policies;
  }
  return all;
}

Result<void, std::string> Simulation::try_algorithms(const policy::Policy& policy,
                                                     std::vector<UnderAlgorithm>& all) {
  std::vector<Algorithm> tried;
  std::vector<std::unique_ptr<Scenario>> scenarios;
  for (const Algorithm algorithm : algorithms_compared) {
    policy::Change change;
    change.algorithm = algorithm;
    const auto changed = base_->with(policy.index, change);
    if (!changed) continue;  // the policy has a setting that this algorithm does not support
    auto scenario =
        open_scenario(*changed, std::size(algorithms_compared), {.policy = policy.index});
    if (!scenario) return Failure<std::string>(scenario.error());
    tried.push_back(algorithm);
    scenarios.push_back(std::move(*scenario));
  }
  if (scenarios.empty()) return {};
  auto replayed = replay_all("trying algorithms for " + policy.name,
                             [&](Instant at, const LoggedRequest& request) {
                               for (const auto& scenario : scenarios) scenario->play(request, at);
                             });
  if (!replayed) return replayed;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto totals = scenarios[i]->summary().totals(policy.index);
    all.push_back({policy.index, std::string(policy::algorithm_name(tried[i])), totals.admitted,
                   totals.denied, totals.peak});
    unkept_ += scenarios[i]->unkept();
  }
  return {};
}

Result<std::vector<ClientTrace>, std::string> Simulation::trace_most_denied(
    const Summary& summary) {
  std::vector<ClientTrace> traces = most_denied(summary);
  const auto scenario = open_scenario(base_, 1, {.measure = Measure::nothing});
  if (!scenario) return Failure<std::string>(scenario.error());
  const auto replayed =
      replay_all("following the most denied", [&](Instant at, const LoggedRequest& request) {
        (*scenario)->play(request, at);
        tell(traces, **scenario, at);
      });
  if (!replayed) return Failure<std::string>(replayed.error());
  return traces;
}

Result<std::vector<Suggestion>, std::string> Simulation::suggest(
    Share share, std::optional<std::size_t> policy) {
  summaries_.clear();
  std::vector<Suggestion> all;
  for (const policy::Policy& each : base_->policies()) {
    if (each.mode == policy::Mode::off) continue;
    if (policy ? each.index != *policy : each.is_candidate()) continue;
    const std::string step = "trying quotas for " + each.name;
    const auto on_progress = [&](std::uint64_t requests) {
      if (requests % requests_between_progress == 0) {
        on_progress_(step, requests, traffic_.requests());
      }
    };
    auto suggestion =
        sim::suggest(base_, each.index, share, traffic_, options_.memory, on_progress);
    if (!suggestion) return Failure<std::string>(suggestion.error());
    unkept_ += suggestion->unkept;
    all.push_back(std::move(*suggestion));
  }
  return all;
}

Result<void, std::string> Simulation::write_decisions(std::ostream& out) {
  decisions_.finish();
  Sorter::Pass pass(decisions_);
  std::int64_t line = 0;
  for (std::string_view json; pass.next(line, json);) out << json << '\n';
  if (!pass.error().empty()) return Failure<std::string>(pass.error());
  return {};
}

Result<std::unique_ptr<Scenario>, std::string> Simulation::open_scenario(
    const std::shared_ptr<const policy::PolicySet>& policies, std::size_t count,
    Watch watch) const {
  return Scenario::open(policies,
                        std::max(options_.memory / count, store::TableOptions::memory_min), watch);
}

template <class Act>
Result<void, std::string> Simulation::replay_all(const std::string& step, const Act& act) const {
  std::uint64_t replayed = 0;
  return traffic_.replay([&](Instant at, const LoggedRequest& request) {
    act(at, request);
    if (++replayed % requests_between_progress == 0) {
      on_progress_(step, replayed, traffic_.requests());
    }
  });
}

std::vector<Compared> Simulation::compared() const {
  std::vector<Compared> all;
  for (std::size_t i = 0; i < summaries_.size(); ++i) {
    all.push_back({variants_[i].name, &summaries_[i]});
  }
  return all;
}

}  // namespace headgate::sim
