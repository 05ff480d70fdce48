#include "headgate/cli/simulate.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/cli/exit_status.h"
#include "headgate/cli/policy_file.h"
#include "headgate/sim/replay.h"
#include "headgate/store/table.h"

namespace headgate::cli {
namespace {

struct Options {
  std::string config;
  std::string format = "auto";
  std::string decisions;
  std::string report;
  std::string memory = "256MiB";
  bool json = false;
  std::vector<std::string> logs;
};

int fail(ExitStatus status, const std::string& words) {
  std::cerr << "headgate: " << words << '\n';
  return status;
}

// "65536", "64KiB", "256MiB", "1GiB".
std::optional<std::size_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(at, static_cast<std::size_t>(text.data() + text.size() - at));
  const int shift = unit.empty()    ? 0
                    : unit == "KiB" ? 10
                    : unit == "MiB" ? 20
                    : unit == "GiB" ? 30
                                    : -1;
  if (error != std::errc{} || shift < 0 || number > (std::uint64_t{1} << 46) >> shift) {
    return std::nullopt;
  }
  return number << shift;
}

const char* missing(const std::string& format) {
  return format == "combined" || format == "common" || format == "json"
             ? "access logs are not available in this version; expected a trace"
             : nullptr;
}

int run(const Options& options) {
  if (!options.report.empty()) {
    return fail(wrong_usage, "--report is not available in this version");
  }
  if (const char* why = missing(options.format); why != nullptr) {
    return fail(wrong_usage, "--format " + options.format + ": " + why);
  }
  const auto memory = parse_size(options.memory);
  if (!memory || *memory < store::TableOptions::memory_min) {
    return fail(wrong_usage,
                "--memory \"" + options.memory +
                    "\": expected bytes, or a number with KiB, MiB or GiB, of 16KiB at "
                    "least");
  }
  const auto policies = load_or_complain(options.config);
  if (policies == nullptr) return input_fault;
  store::TableOptions table_options;
  table_options.memory = *memory;
  table_options.sharing = store::Sharing::threads;
  table_options.clock = &store::ClockSource::still();  // the trace brings its own time
  // Traces ask for any policy, and memory is taken as it is touched.
  table_options.wide_share = 16;
  table_options.ledger_share = 32;
  const auto table = store::Table::open(table_options);
  if (!table) return fail(input_fault, table.error());

  std::ofstream file;
  std::ostream* decisions = nullptr;
  if (options.decisions == "-") {
    std::ios::sync_with_stdio(false);
    decisions = &std::cout;
  } else if (!options.decisions.empty()) {
    file.open(options.decisions, std::ios::trunc | std::ios::binary);
    if (!file) return fail(input_fault, options.decisions + ": " + std::strerror(errno));
    decisions = &file;
  }

  sim::Simulator simulator(policies, **table);
  const auto complain = [](const std::string& what) { std::cerr << what << '\n'; };
  for (const std::string& log : options.logs) {
    auto lines = sim::Lines::open(log);
    if (!lines) return fail(input_fault, log + ": " + lines.error());
    sim::Line first;
    if (options.format == "auto" && lines->peek(first) && !sim::looks_like_trace(first.text)) {
      return fail(wrong_usage, log + ": the first line is not a trace's: " + missing("common"));
    }
    const auto replayed = sim::replay_trace(*lines, log, simulator, decisions, complain);
    if (!replayed) return fail(input_fault, log + ": " + replayed.error());
  }

  const sim::Summary& summary = simulator.summary();
  std::ostream& out = options.decisions == "-" ? std::cerr : std::cout;
  out << (options.json ? summary.json() : summary.text()) << std::flush;
  const store::TableStats stats = (*table)->stats();
  if (const auto lost = stats.evictions + stats.unkept; lost > 0) {
    std::cerr << "headgate: warning: " << lost
              << " keys found no room and lost their state, so some decisions are too generous; "
                 "give more than --memory "
              << options.memory << '\n';
  }
  if (decisions != nullptr && !decisions->flush()) {
    return fail(input_fault, options.decisions + ": " + std::strerror(errno));
  }
  if (summary.skipped() > 0 && summary.applied() == 0) {
    return fail(input_fault, "no line could be read");
  }
  return done;
}

}  // namespace

std::function<int()> add_simulate(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "simulate", "Replay recorded traffic through the policies, in its own time");
  command->add_option("--config", options->config, "The policy file")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", options->format, "auto, or trace: one JSON object a line")
      ->capture_default_str()
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"auto", "combined", "common", "json", "trace"}).description(""));
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command
      ->add_option("--decisions", options->decisions,
                   "Write one decision a line there; - is standard output, and the summary then "
                   "goes to standard error")
      ->type_name("FILE");
  command->add_option("--report", options->report, "Not available in this version")
      ->type_name("FILE")
      ->group("");
  command->add_option("--memory", options->memory, "Room for the state of all keys")
      ->capture_default_str()
      ->type_name("SIZE");
  command->add_option("log", options->logs, "Files to replay, in this order; - is standard input")
      ->required()
      ->type_name("LOG");
  command->footer(
      "A trace line: {\"t\": 1700000000000000000, \"policy\": \"burst\", \"key\": \"a\", \"cost\": "
      "1}\n"
      "t is in nanoseconds since the epoch; \"op\" may be spend, peek, refund or release (of what "
      "counts\nrequests in flight); \"policy\" may be a list.\n"
      "Lines that can't be read are skipped, counted, and the first of them shown.\n"
      "Exit status: 0 done, 1 a file could not be used, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
