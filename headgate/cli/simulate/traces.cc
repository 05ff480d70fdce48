#include "headgate/cli/simulate/traces.h"

#include <utility>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/policy_file.h"
#include "headgate/cli/simulate/decisions_file.h"
#include "headgate/cli/simulate/plot.h"
#include "headgate/cli/simulate/warnings.h"
#include "headgate/sim/replay.h"
#include "headgate/store/table.h"

namespace headgate::cli {
namespace {

int fail(ExitStatus status, const std::string& words) {
  print_error("headgate: " + words);
  return status;
}

// Returns the first option that needs access logs, or nullptr.
const char* option_for_logs(const SimulateOptions& options) {
  if (options.configs.size() > 1) return "several --config";
  if (!options.compare.empty()) return "--compare";
  if (!options.suggest.empty()) return "--suggest";
  if (!options.report.empty()) return "--report";
  return nullptr;
}

}  // namespace

int simulate_traces(const SimulateOptions& options, sim::Lines first) {
  if (const char* what = option_for_logs(options); what != nullptr) {
    return fail(wrong_usage, std::string(what) + ": expected access logs, not a trace");
  }
  const auto policies = load_or_complain(options.configs.front());
  if (policies == nullptr) return input_fault;
  warn_of_redis(*policies);
  store::TableOptions table_options;
  table_options.memory = options.memory;
  table_options.sharing = store::Sharing::threads;
  table_options.clock = &store::ClockSource::still();  // the trace brings its own time
  // A trace may use any kind of policy. Memory is only used once it is written.
  table_options.wide_share = 16;
  table_options.ledger_share = 32;
  const auto table = store::Table::open(table_options);
  if (!table) return fail(input_fault, table.error());
  DecisionsFile decisions;
  if (auto opened = decisions.open(options.decisions); !opened) {
    return fail(input_fault, opened.error());
  }

  sim::Simulator simulator(policies, **table);
  const auto complain = [](const std::string& what) { print_error(what); };
  for (std::size_t i = 0; i < options.logs.size(); ++i) {
    const std::string& log = options.logs[i];
    auto lines = i == 0 ? Result<sim::Lines, std::string>(std::move(first)) : sim::Lines::open(log);
    if (!lines) return fail(input_fault, log + ": " + lines.error());
    const auto replayed = sim::replay_trace(*lines, log, simulator, decisions.stream(), complain);
    if (!replayed) return fail(input_fault, log + ": " + replayed.error());
  }

  if (auto closed = decisions.close(); !closed) return fail(input_fault, closed.error());
  const sim::Summary& summary = simulator.summary();
  decisions.summary() << (options.json ? summary.json() : summary.text()) << std::flush;
  warn_of_unkept((*table)->stats().unkept, options);
  if (summary.skipped() > 0 && summary.applied() == 0) {
    return fail(input_fault, "no line could be read");
  }
  if (!options.plot.empty()) {
    const auto plotted = write_plot(options.plot, policies, options.logs);
    if (!plotted) return fail(input_fault, plotted.error());
  }
  return done;
}

}  // namespace headgate::cli
