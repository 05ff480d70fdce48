#include "headgate/cli/simulate/logs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "headgate/cli/exit_status.h"
#include "headgate/cli/policy_file.h"
#include "headgate/cli/printable.h"
#include "headgate/cli/progress.h"
#include "headgate/cli/simulate/decisions_file.h"
#include "headgate/cli/simulate/warnings.h"
#include "headgate/policy/algorithm.h"
#include "headgate/sim/log/format.h"
#include "headgate/sim/log/sorter.h"
#include "headgate/sim/log/traffic.h"
#include "headgate/sim/report/comparison.h"
#include "headgate/sim/report/log_summary.h"
#include "headgate/sim/report/report.h"
#include "headgate/sim/report/traffic_profile.h"
#include "headgate/sim/scenario.h"
#include "headgate/sim/suggestion.h"
#include "headgate/sim/variant.h"

namespace headgate::cli {
namespace {

struct Stop {
  ExitStatus status;
  std::string words;  // empty: everything has been said
};
using Step = Result<void, Stop>;

Failure<Stop> stop(ExitStatus status, std::string words = {}) {
  return Failure<Stop>(Stop{status, std::move(words)});
}

// More than these are not looked at under every algorithm for a report.
constexpr std::size_t policies_under_algorithms_max = 16;

// The decisions of lines that are played in another order than that of the file.
class Decisions {
 public:
  Result<void, std::string> add(std::uint64_t line, std::string_view json) {
    return by_line_.add(static_cast<std::int64_t>(line), json);
  }

  Result<void, std::string> write(std::ostream& out) {
    by_line_.finish();
    sim::Sorter::Pass pass(by_line_);
    std::int64_t line = 0;
    for (std::string_view json; pass.next(line, json);) out << json << '\n';
    if (!pass.error().empty()) return Failure<std::string>(pass.error());
    return {};
  }

 private:
  static constexpr std::size_t memory = std::size_t{32} << 20;
  sim::Sorter by_line_{memory};
};

class Simulation {
 public:
  Simulation(const SimulateOptions& options, const sim::FieldNames& names)
      : options_(options), names_(names) {}

  Step run(sim::Lines first) {
    if (auto ready = prepare(); !ready) return ready;
    if (auto read = read_logs(std::move(first)); !read) return read;
    if (auto played = play(); !played) return played;
    if (!options_.report.empty()) {
      if (auto reported = field_writer(); !reported) return reported;
    }
    progress_.clear();
    return tell();
  }

 private:
  Step prepare() {
    for (const std::string& config : options_.configs) {
      auto policies = load_or_complain(config);
      if (policies == nullptr) return stop(input_fault);
      variants_.push_back({config, std::move(policies)});
    }
    base_ = variants_.front().policies;
    if (auto found = find_policy(); !found) return found;
    if (!options_.compare.empty()) {
      if (variants_.size() > 1) return stop(wrong_usage, "--compare: expected one --config");
      auto varied = sim::vary(base_, policy_, options_.compare);
      if (!varied) return stop(wrong_usage, "--compare: " + varied.error());
      variants_ = std::move(*varied);
    }
    if (!options_.suggest.empty()) {
      share_ = sim::Share::parse(options_.suggest);
      if (!share_) {
        return stop(wrong_usage, "--suggest \"" + options_.suggest +
                                     "\": expected a share of the clients, such as 99.9%");
      }
    }
    if (auto opened = decisions_file_.open(options_.decisions); !opened) {
      return stop(input_fault, opened.error());
    }
    if (!options_.report.empty()) {
      // Before minutes of work, not after them; what is there stays until then.
      std::error_code unknown;
      const auto found = std::filesystem::symlink_status(options_.report, unknown);
      const std::ofstream file(options_.report, std::ios::app | std::ios::binary);
      if (!file) return stop(input_fault, options_.report + ": " + std::strerror(errno));
      if (!std::filesystem::exists(found)) std::filesystem::remove(options_.report, unknown);
    }
    return {};
  }

  // Which policy is to be varied.
  Step find_policy() {
    const auto all = base_->policies();
    const auto named = [this](const policy::Policy& policy) {
      return options_.policy.empty() || policy.name == options_.policy;
    };
    const auto found = std::find_if(all.begin(), all.end(), named);
    if (found == all.end()) {
      return stop(wrong_usage, "--policy \"" + options_.policy + "\": no policy has this name");
    }
    if (all.size() > 1 && options_.policy.empty() && !options_.compare.empty()) {
      return stop(wrong_usage, "--compare: expected --policy NAME, as there are several policies");
    }
    policy_ = found->index;
    return {};
  }

  policy::FieldsUsed fields_used() const {
    policy::FieldsUsed all;
    for (const sim::Variant& variant : variants_) all.add(variant.policies->fields_used());
    all.path |= !options_.report.empty();
    return all;
  }

  Step read_logs(sim::Lines first) {
    traffic_ = std::make_unique<sim::Traffic>(fields_used());
    for (std::size_t i = 0; i < options_.logs.size(); ++i) {
      const std::string& log = options_.logs[i];
      auto lines =
          i == 0 ? Result<sim::Lines, std::string>(std::move(first)) : sim::Lines::open(log);
      if (!lines) return stop(input_fault, log + ": " + lines.error());
      if (auto read = read_log(*lines, log); !read) return read;
    }
    traffic_->finish();
    if (traffic_->requests() == 0 && traffic_->skipped() > 0) {
      return stop(input_fault, "no line could be read");
    }
    return {};
  }

  Step read_log(sim::Lines& lines, const std::string& log) {
    const auto format = options_.format == "auto" ? sim::detect(lines.peek(), names_)
                                                  : *sim::log_format_of(options_.format);
    if (format == sim::LogFormat::trace) {
      return stop(wrong_usage, log + ": is a trace; expected an access log, as those before it");
    }
    const auto reader = sim::make_reader(format, names_, traffic_->layout().headers);
    const auto complain = [this](const std::string& what) {
      progress_.clear();
      std::cerr << what << '\n';
    };
    const auto on_skip = [this](std::uint64_t line, std::string_view why) {
      return decisions_file_.stream() == nullptr
                 ? Result<void, std::string>()
                 : decisions_.add(line, sim::error_json(std::string(why)));
    };
    const std::string shown = "reading " + printable(log);
    const auto on_progress = [&](const sim::Source& source) {
      progress_.show(shown, source.position(), source.size());
    };
    if (auto read = traffic_->read(lines, *reader, log, complain, on_skip, on_progress); !read) {
      return stop(input_fault, log + ": " + read.error());
    }
    return {};
  }

  // One of `count` scenarios that are open at once.
  Result<std::unique_ptr<sim::Scenario>, std::string> open_scenario(
      const std::shared_ptr<const policy::PolicySet>& policies, std::size_t count,
      sim::Watch watch) const {
    return sim::Scenario::open(
        policies, std::max(options_.memory / count, store::TableOptions::memory_min), watch);
  }

  template <class Act>
  Step play_all(const std::string& what, const Act& act) {
    std::uint64_t played = 0;
    const auto replayed = traffic_->replay([&](Instant at, const sim::LoggedRequest& record) {
      act(at, record);
      if (++played % 4096 == 0) progress_.show(what, played, traffic_->requests());
    });
    if (!replayed) return stop(input_fault, replayed.error());
    return {};
  }

  Step play() {
    std::vector<std::unique_ptr<sim::Scenario>> scenarios;
    for (const sim::Variant& variant : variants_) {
      auto scenario = open_scenario(variant.policies, variants_.size(), {});
      if (!scenario) return stop(input_fault, scenario.error());
      scenarios.push_back(std::move(*scenario));
      scenarios.back()->summary().skip(traffic_->skipped());
    }
    Result<void, std::string> kept;
    auto played = play_all("replaying", [&](Instant at, const sim::LoggedRequest& record) {
      for (const auto& scenario : scenarios) scenario->play(record, at);
      if (decisions_file_.stream() != nullptr && kept) {
        kept =
            decisions_.add(record.line(), sim::decision_json(scenarios.front()->answers(), false));
      }
    });
    for (const auto& scenario : scenarios) {
      lost_ += scenario->lost();
      summaries_.push_back(scenario->take_summary());
    }
    if (played && !kept) return stop(input_fault, kept.error());
    return played;
  }

  Step tell() {
    std::string text = options_.json ? json() : this->text();
    if (share_) {
      summaries_.clear();
      if (auto suggested = suggest(text); !suggested) return suggested;
      progress_.clear();
    }
    decisions_file_.summary() << text << std::flush;
    warn_of_lost(lost_, options_);
    warn_of_untold(*traffic_, *base_);
    if (decisions_file_.stream() != nullptr) {
      if (auto written = decisions_.write(*decisions_file_.stream()); !written) {
        return stop(input_fault, written.error());
      }
    }
    if (auto closed = decisions_file_.close(); !closed) return stop(input_fault, closed.error());
    return {};
  }

  // Plays the traffic again: as the policies say, each of them under every algorithm, and for those
  // who were denied most.
  Step field_writer() {
    sim::TrafficProfile profile(traffic_->first(), traffic_->last());
    auto base = open_scenario(base_, 1, {.measure = sim::Measure::all});
    if (!base) return stop(input_fault, base.error());
    (*base)->summary().skip(traffic_->skipped());
    auto played =
        play_all("replaying for the report", [&](Instant at, const sim::LoggedRequest& record) {
          (*base)->play(record, at);
          profile.add(**base, record, at);
        });
    if (!played) return played;
    const sim::Summary summary = (*base)->take_summary();
    base->reset();

    std::vector<sim::UnderAlgorithm> algorithms;
    std::size_t left = policies_under_algorithms_max;
    for (const policy::Policy& policy : base_->policies()) {
      const bool unasked = summary.totals(policy.index).partitions == 0;
      if (policy.mode == policy::Mode::off || unasked || left == 0) continue;
      const std::size_t before = algorithms.size();
      if (auto tried = try_algorithms(policy, algorithms); !tried) return tried;
      if (algorithms.size() > before) --left;
    }

    std::vector<sim::ClientTrace> traces = sim::most_denied(summary);
    auto again = open_scenario(base_, 1, {.measure = sim::Measure::nothing});
    if (!again) return stop(input_fault, again.error());
    played =
        play_all("following the most denied", [&](Instant at, const sim::LoggedRequest& record) {
          (*again)->play(record, at);
          sim::tell(traces, **again, at);
        });
    if (!played) return played;
    return write_report({logs_text(), options_.configs.front(), &summary, &profile,
                         std::move(algorithms), std::move(traces)});
  }

  // One policy under each algorithm that it can have.
  Step try_algorithms(const policy::Policy& policy, std::vector<sim::UnderAlgorithm>& algorithms) {
    using limit::Algorithm;
    constexpr Algorithm all[] = {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
                                 Algorithm::sliding_window_counter, Algorithm::moving_window};
    std::vector<Algorithm> tried;
    std::vector<std::unique_ptr<sim::Scenario>> scenarios;
    for (const Algorithm algorithm : all) {
      policy::Change change;
      change.algorithm = algorithm;
      const auto changed = base_->with(policy.index, change);
      if (!changed) continue;  // this policy can't have it
      auto scenario = open_scenario(*changed, std::size(all), {.policy = policy.index});
      if (!scenario) return stop(input_fault, scenario.error());
      tried.push_back(algorithm);
      scenarios.push_back(std::move(*scenario));
    }
    if (scenarios.empty()) return {};
    auto played = play_all("trying algorithms for " + policy.name,
                           [&](Instant at, const sim::LoggedRequest& record) {
                             for (const auto& scenario : scenarios) scenario->play(record, at);
                           });
    if (!played) return played;
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      const auto totals = scenarios[i]->summary().totals(policy.index);
      algorithms.push_back({policy.index, std::string(policy::algorithm_name(tried[i])),
                            totals.admitted, totals.denied, totals.peak});
      lost_ += scenarios[i]->lost();
    }
    return {};
  }

  Step write_report(const sim::Findings& findings) {
    std::ofstream file(options_.report, std::ios::trunc | std::ios::binary);
    if (!(file << sim::report_html(findings)) || !file.flush()) {
      return stop(input_fault, options_.report + ": " + std::strerror(errno));
    }
    return {};
  }

  std::string logs_text() const {
    std::string text;
    for (const std::string& log : options_.logs) text += (text.empty() ? "" : ", ") + log;
    return text;
  }

  std::vector<sim::Compared> compared() const {
    std::vector<sim::Compared> all;
    for (std::size_t i = 0; i < summaries_.size(); ++i) {
      all.push_back({variants_[i].name, &summaries_[i]});
    }
    return all;
  }

  std::string json() const {
    return summaries_.size() > 1 ? sim::comparison_json(compared()) : summaries_.front().json();
  }

  std::string text() const {
    const sim::Summary& summary = summaries_.front();
    std::string text = sim::log_headline(summary) + '\n';
    return text + (summaries_.size() > 1 ? sim::comparison_text(compared())
                                         : sim::log_summary_text(summary));
  }

  // Adds the suggestions to what is to be told: for the policy that was named, or for all.
  Step suggest(std::string& text) {
    std::string json;
    for (const policy::Policy& policy : base_->policies()) {
      if (policy.mode == policy::Mode::off) continue;
      if (!options_.policy.empty() && policy.index != policy_) continue;
      const auto on_progress = [&](std::uint64_t played) {
        if (played % 4096 == 0) {
          progress_.show("trying quotas for " + policy.name, played, traffic_->requests());
        }
      };
      const auto suggestion =
          sim::suggest(base_, policy.index, *share_, *traffic_, options_.memory, on_progress);
      if (!suggestion) return stop(input_fault, suggestion.error());
      lost_ += suggestion->lost;
      if (options_.json) {
        json += (json.empty() ? "" : ",") + sim::suggestion_json(*suggestion, *share_);
      } else {
        text += '\n' + sim::suggestion_text(*suggestion, *share_);
      }
    }
    if (options_.json) text.replace(text.size() - 2, 2, ",\"suggestions\":[" + json + "]}\n");
    return {};
  }

  const SimulateOptions& options_;
  const sim::FieldNames& names_;
  Progress progress_;
  std::shared_ptr<const policy::PolicySet> base_;  // of the first policy file
  std::vector<sim::Variant> variants_;
  std::size_t policy_ = 0;  // which one is varied
  std::optional<sim::Share> share_;
  DecisionsFile decisions_file_;
  Decisions decisions_;
  std::unique_ptr<sim::Traffic> traffic_;
  std::vector<sim::Summary> summaries_;  // of the variants
  std::uint64_t lost_ = 0;               // keys that found no room, in any scenario
};

}  // namespace

int simulate_logs(const SimulateOptions& options, const sim::FieldNames& names, sim::Lines first) {
  Simulation simulation(options, names);
  const Step ran = simulation.run(std::move(first));
  if (ran) return done;
  if (!ran.error().words.empty()) std::cerr << "headgate: " << ran.error().words << '\n';
  return ran.error().status;
}

}  // namespace headgate::cli
