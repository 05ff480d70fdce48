#include "headgate/cli/simulate/simulate.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "headgate/base/regular_file.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/simulate/logs.h"
#include "headgate/cli/simulate/options.h"
#include "headgate/cli/simulate/traces.h"
#include "headgate/policy/quantity.h"
#include "headgate/sim/log/format.h"
#include "headgate/sim/log/lines.h"
#include "headgate/store/table.h"

namespace headgate::cli {
namespace {

constexpr std::uint64_t memory_max = std::uint64_t{1} << 46;  // half of a process' address space

int fail(ExitStatus status, const std::string& words) {
  print_error("headgate: " + words);
  return status;
}

bool is_same_regular_file(const std::string& a, const std::string& b) {
  std::error_code missing;
  return std::filesystem::is_regular_file(a, missing) && is_same_file(a, b);
}

// Whether two outputs would be one regular file, which may not be there yet. An empty name is none.
bool is_one_output(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  if (std::filesystem::exists(a, error)) return is_same_regular_file(a, b);
  const auto full = [&](const std::string& name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, error), error);
  };
  return full(a) == full(b);
}

// What is read must not be replaced by what is written, nor one output by another. Returns what is
// wrong, or "".
std::string overwrites(const SimulateOptions& options) {
  const std::string decisions = options.decisions == "-" ? "" : options.decisions;
  const std::pair<std::string, std::string> outputs[] = {
      {"--decisions", decisions}, {"--report", options.report}, {"--plot", options.plot}};
  for (const auto& [option, file] : outputs) {
    if (option != "--decisions" && is_one_output(decisions, file)) {
      return option + " \"" + file + "\" would replace --decisions \"" + decisions +
             "\"; expected another file";
    }
    for (const auto& inputs : {options.logs, options.configs}) {
      for (const std::string& input : inputs) {
        if (!is_same_regular_file(file, input)) continue;
        return option + " \"" + file + "\" would replace " + input +
               ", which is read; expected another file";
      }
    }
  }
  return {};
}

int run(SimulateOptions& options) {
  const auto memory =
      policy::parse_size(options.memory_text, store::TableOptions::memory_min, memory_max);
  if (!memory) {
    return fail(wrong_usage, "--memory \"" + options.memory_text + "\" " + memory.error());
  }
  options.memory = static_cast<std::size_t>(*memory);
  sim::FieldNames names;
  for (const std::string& field : options.fields) {
    if (const auto set = names.set(field); !set) {
      return fail(wrong_usage, "--field \"" + field + "\": " + set.error());
    }
  }
  if (const std::string fault = overwrites(options); !fault.empty()) {
    return fail(wrong_usage, fault);
  }
  if (!options.policy.empty() && options.compare.empty() && options.suggest.empty()) {
    return fail(wrong_usage, "--policy: expected --compare or --suggest, which it is for");
  }
  const std::string& log = options.logs.front();
  auto first = sim::Lines::open(log);
  if (!first) return fail(input_fault, log + ": " + first.error());
  const sim::LogFormat format =
      sim::log_format_of(options.format).value_or(sim::LogFormat::combined);
  const bool is_trace = options.format == "auto"
                            ? sim::detect(first->peek(), names) == sim::LogFormat::trace
                            : format == sim::LogFormat::trace;
  if (!is_trace && !options.plot.empty()) {
    return fail(wrong_usage,
                "--plot: expected a trace, not access logs; --report has plots of those");
  }
  return is_trace ? simulate_traces(options, std::move(*first))
                  : simulate_logs(options, names, std::move(*first));
}

void add_options(CLI::App& command, SimulateOptions& options) {
  command
      .add_option("--config", options.configs,
                  "The policy file; if repeated, the files are compared, and --decisions and "
                  "--report are about the first")
      ->required()
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      .add_option("--format", options.format,
                  "auto, combined, common, envoy, haproxy, json (one object per line) or trace")
      ->capture_default_str()
      ->type_name("FORMAT")
      ->check(one_of({"auto", "combined", "common", "envoy", "haproxy", "json", "trace"}));
  command
      .add_option("--field", options.fields,
                  "The name of a member in a JSON log, such as time=ts or header:x-plan=plan")
      ->allow_extra_args(false)
      ->type_name("WHAT=NAME");
  command.add_flag("--json", options.json, "Print the summary as JSON");
  command
      .add_option("--decisions", options.decisions,
                  "Write one decision per line to this file; - is standard output, and the summary "
                  "then goes to standard error")
      ->type_name("FILE");
  command
      .add_option("--report", options.report,
                  "Write an HTML page that shows what would have been denied")
      ->type_name("FILE");
  command
      .add_option("--plot", options.plot,
                  "Draw a trace of a few keys as SVG: the units requested, and the units left")
      ->type_name("FILE");
  command
      .add_option("--compare", options.compare,
                  "Compare variants of a policy: quota=50,100 or window=1m,1h or "
                  "algorithm=linear,fixed-window; several are combined; only with one --config")
      ->allow_extra_args(false)
      ->type_name("WHAT=A,B");
  command
      .add_option("--suggest", options.suggest,
                  "Find the smallest quota under which this share of clients, and of requests, is "
                  "never denied; only with one --config")
      ->type_name("PERCENT");
  command
      .add_option("--policy", options.policy,
                  "The policy for --compare and --suggest, if the file has several")
      ->type_name("NAME");
  command.add_option("--memory", options.memory_text, "Memory for the state of all keys")
      ->capture_default_str()
      ->type_name("SIZE");
  command
      .add_option("log", options.logs,
                  "Files to replay, plain or compressed by gzip or zstd; - is standard input")
      ->required()
      ->type_name("LOG");
}

}  // namespace

std::function<int()> add_simulate(CLI::App& headgate) {
  const auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = headgate.add_subcommand(
      "simulate", "Replay recorded traffic through the policies, at its recorded times");
  add_options(*command, *options);
  command->callback([options] {
    if (std::count(options->logs.begin(), options->logs.end(), "-") > 1) {
      throw CLI::ValidationError("-", "standard input can be read only once");
    }
  });
  command->footer(
      "Access logs are replayed in the order of time, whatever the order of their lines.\n"
      "A trace is replayed in the order of its lines. A line of a trace is\n"
      "  {\"t\": 1700000000000000000, \"policy\": \"burst\", \"key\": \"a\", \"cost\": 1}\n"
      "t is in nanoseconds since the epoch. \"op\" may be spend, peek, refund, or release (if the\n"
      "policy counts requests in flight). \"policy\" may be a list.\n"
      "Lines that can't be read are skipped and counted; the first of them are shown.\n"
      "Exit status: 0 done, 1 a file could not be used, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
