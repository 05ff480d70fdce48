#include "headgate/cli/simulate/logs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/policy_file.h"
#include "headgate/cli/printable.h"
#include "headgate/cli/progress.h"
#include "headgate/cli/simulate/decisions_file.h"
#include "headgate/cli/simulate/output_file.h"
#include "headgate/cli/simulate/warnings.h"
#include "headgate/sim/log/format.h"
#include "headgate/sim/simulation.h"
#include "headgate/sim/suggestion.h"
#include "headgate/sim/variant.h"

namespace headgate::cli {
namespace {

// Why the command ends early.
struct Stop {
  ExitStatus status;
  std::string message;  // empty: standard error has it already
};
using Step = Result<void, Stop>;

Failure<Stop> stop(ExitStatus status, std::string message = {}) {
  return Failure<Stop>(Stop{status, std::move(message)});
}

// What the options name, read and checked.
struct Plan {
  std::shared_ptr<const policy::PolicySet> base;  // the first policy file
  std::vector<sim::Variant> variants;
  std::optional<sim::Share> share;    // of --suggest
  std::optional<std::size_t> policy;  // index of --policy in `base`
};

// The index of the policy to which --compare and --suggest apply; the first one without --policy.
Result<std::size_t, Stop> find_policy(const SimulateOptions& options,
                                      const policy::PolicySet& policies) {
  const auto all = policies.policies();
  const auto is_named = [&](const policy::Policy& policy) {
    return options.policy.empty() || policy.name == options.policy;
  };
  const auto found = std::find_if(all.begin(), all.end(), is_named);
  if (found == all.end()) {
    return stop(wrong_usage, "--policy \"" + options.policy + "\": no policy has this name");
  }
  if (all.size() > 1 && options.policy.empty() && !options.compare.empty()) {
    return stop(wrong_usage, "--compare: expected --policy NAME, as there are several policies");
  }
  return found->index;
}

// Returns the first option that is about the policies of one file, or nullptr.
const char* option_for_one_file(const SimulateOptions& options) {
  if (!options.compare.empty()) return "--compare";
  if (!options.suggest.empty()) return "--suggest";
  return nullptr;
}

Result<Plan, Stop> make_plan(const SimulateOptions& options) {
  if (const char* what = option_for_one_file(options);
      what != nullptr && options.configs.size() > 1) {
    return stop(wrong_usage, std::string(what) + ": expected one --config");
  }
  Plan plan;
  for (const std::string& config : options.configs) {
    auto policies = load_or_complain(config);
    if (policies == nullptr) return stop(input_fault);
    plan.variants.push_back({config, std::move(policies)});
  }
  plan.base = plan.variants.front().policies;
  warn_of_redis(*plan.base);
  const auto policy = find_policy(options, *plan.base);
  if (!policy) return Failure<Stop>(policy.error());
  if (!options.policy.empty()) plan.policy = *policy;
  if (!options.compare.empty()) {
    auto varied = sim::vary(plan.base, *policy, options.compare);
    if (!varied) return stop(wrong_usage, "--compare: " + varied.error());
    plan.variants = std::move(*varied);
  }
  if (!options.suggest.empty()) {
    plan.share = sim::Share::parse(options.suggest);
    if (!plan.share) {
      return stop(wrong_usage, "--suggest \"" + options.suggest +
                                   "\": expected a share of the clients, such as 99.9%");
    }
  }
  return plan;
}

// Fails now, before minutes of work, if the report can't be written later. Leaves the file as it
// is.
Step check_writable(const std::string& path) {
  std::error_code ignored;
  const auto found = std::filesystem::symlink_status(path, ignored);
  const std::ofstream file(path, std::ios::app | std::ios::binary);
  if (!file) return stop(input_fault, path + ": " + std::strerror(errno));
  if (!std::filesystem::exists(found)) std::filesystem::remove(path, ignored);
  return {};
}

Step read_log(sim::Simulation& simulation, sim::Lines& lines, const std::string& log,
              const SimulateOptions& options, const sim::FieldNames& names, Progress& progress) {
  const auto format = options.format == "auto" ? sim::detect(lines.peek(), names)
                                               : *sim::log_format_of(options.format);
  if (format == sim::LogFormat::trace) {
    return stop(wrong_usage, log + ": is a trace; expected an access log, as those before it");
  }
  const auto reader = sim::make_reader(format, names, simulation.wanted_headers());
  const auto complain = [&](const std::string& what) {
    progress.clear();
    print_error(what);
  };
  if (auto read = simulation.read(lines, *reader, log, complain); !read) {
    return stop(input_fault, log + ": " + read.error());
  }
  return {};
}

Step read_logs(sim::Simulation& simulation, sim::Lines first, const SimulateOptions& options,
               const sim::FieldNames& names, Progress& progress) {
  for (std::size_t i = 0; i < options.logs.size(); ++i) {
    const std::string& log = options.logs[i];
    auto lines = i == 0 ? Result<sim::Lines, std::string>(std::move(first)) : sim::Lines::open(log);
    if (!lines) return stop(input_fault, log + ": " + lines.error());
    if (auto read = read_log(simulation, *lines, log, options, names, progress); !read) return read;
  }
  if (auto finished = simulation.finish_reading(); !finished) {
    return stop(input_fault, finished.error());
  }
  return {};
}

// The report is sent to others, who need not know where the files are.
std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Step write_report(sim::Simulation& simulation, const SimulateOptions& options,
                  const std::vector<sim::Suggestion>& suggestions, const Plan& plan) {
  std::string logs;
  for (const std::string& log : options.logs) logs += (logs.empty() ? "" : ", ") + file_name(log);
  std::vector<sim::SuggestedQuotas> quotas;
  for (const sim::Suggestion& one : suggestions) {
    quotas.push_back({one.policy->index, sim::suggestion_lines(one, *plan.share)});
  }
  const auto html =
      simulation.report(std::move(logs), file_name(options.configs.front()), std::move(quotas));
  if (!html) return stop(input_fault, html.error());
  const auto written = write_output(options.report, *html);
  if (!written) return stop(input_fault, written.error());
  return {};
}

// The suggestions in the form that follows the summary's text, or replaces the end of its JSON.
void add_suggestions(std::string& text, const std::vector<sim::Suggestion>& suggestions,
                     sim::Share share, bool json) {
  std::string objects;
  for (const sim::Suggestion& suggestion : suggestions) {
    if (json) {
      objects += (objects.empty() ? "" : ",") + sim::suggestion_json(suggestion, share);
    } else {
      text += '\n' + sim::suggestion_text(suggestion, share);
    }
  }
  constexpr std::string_view object_end = "}\n";
  if (json) {
    text.replace(text.size() - object_end.size(), object_end.size(),
                 ",\"suggestions\":[" + objects + "]}\n");
  }
}

Step run(const SimulateOptions& options, const sim::FieldNames& names, sim::Lines first) {
  auto plan = make_plan(options);
  if (!plan) return Failure<Stop>(plan.error());
  DecisionsFile decisions;
  if (auto opened = decisions.open(options.decisions); !opened) {
    return stop(input_fault, opened.error());
  }
  if (!options.report.empty()) {
    if (auto writable = check_writable(options.report); !writable) return writable;
  }

  Progress progress;
  const auto on_progress = [&](const std::string& step, std::uint64_t done, std::uint64_t all) {
    progress.show(printable(step), done, all);
  };
  sim::Simulation simulation(plan->base, std::move(plan->variants),
                             {.memory = options.memory,
                              .decisions = decisions.stream() != nullptr,
                              .report = !options.report.empty()},
                             on_progress);
  if (auto read = read_logs(simulation, std::move(first), options, names, progress); !read) {
    return read;
  }
  if (auto replayed = simulation.replay(); !replayed) return stop(input_fault, replayed.error());
  std::string text = options.json ? simulation.json() : simulation.text();
  std::vector<sim::Suggestion> suggestions;
  if (plan->share) {
    auto found = simulation.suggest(*plan->share, plan->policy);
    if (!found) return stop(input_fault, found.error());
    suggestions = std::move(*found);
    add_suggestions(text, suggestions, *plan->share, options.json);
  }
  if (!options.report.empty()) {
    if (auto written = write_report(simulation, options, suggestions, *plan); !written) {
      return written;
    }
  }
  progress.clear();

  decisions.summary() << text << std::flush;
  warn_of_unkept(simulation.unkept(), options);
  warn_of_missing(simulation.traffic(), *plan->base);
  if (decisions.stream() != nullptr) {
    if (auto written = simulation.write_decisions(*decisions.stream()); !written) {
      return stop(input_fault, written.error());
    }
  }
  if (auto closed = decisions.close(); !closed) return stop(input_fault, closed.error());
  return {};
}

}  // namespace

int simulate_logs(const SimulateOptions& options, const sim::FieldNames& names, sim::Lines first) {
  const Step ran = run(options, names, std::move(first));
  if (ran) return done;
  if (!ran.error().message.empty()) print_error("headgate: " + ran.error().message);
  return ran.error().status;
}

}  // namespace headgate::cli
