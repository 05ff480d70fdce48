// The `headgate` command.

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "headgate/base/ascii.h"
#include "headgate/cli/check/check.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/explain/explain.h"
#include "headgate/cli/fetch/fetch.h"
#include "headgate/cli/gateway/gateway.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/help/help.h"
#include "headgate/cli/partition/commands.h"
#include "headgate/cli/partition/override.h"
#include "headgate/cli/schema.h"
#include "headgate/cli/serve.h"
#include "headgate/cli/simulate/simulate.h"
#include "headgate/cli/top/top.h"
#include "headgate/cli/version.h"

namespace headgate::cli {
namespace {

// Whether the command exists. Otherwise prints which do; CLI11's message would not.
bool is_command(CLI::App& app, const std::string& word) {
  if (word.starts_with('-') || find_command(app, word) != nullptr) return true;
  print_error(app.get_name() + ": " + no_such_command(app, word));
  return false;
}

std::string refuse_empty(const std::string& value) {
  return value.empty() ? "is empty; expected a value, or no such option" : "";
}

// CLI11 takes what follows `--file` or `--file=` for its value, also if it is another option.
std::string refuse_option(const std::string& value) {
  const bool is_option =
      value.size() > 1 && value[0] == '-' && (value[1] == '-' || is_letter(value[1]));
  return is_option ? '"' + value + "\" looks like another option; expected a value" : "";
}

// A value is missing where a variable is not set. That must not switch off what its option stands
// for, such as a token, nor what the next one does.
void refuse_missing_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    const bool is_named = option->nonpositional();
    if (option->get_expected_max() == 0) continue;    // a flag
    const bool is_word = is_named && type != "TEXT";  // of what people write, all is allowed
    if (type == "FILE" || is_word) option->check(refuse_empty);
    if (is_word) option->check(refuse_option);
  }
}

// Returns the exit status of a command that has ended, and says so if its output is lost.
int finished(int status) {
  const bool good = std::cout.good();
  if (std::cout.flush()) return status;
  // The reason of a write that failed earlier is not known any more.
  const std::string why = good ? std::string(": ") + std::strerror(errno) : "";
  print_error("headgate: standard output cannot be written" + why);
  return std::max<int>(status, input_fault);
}

int run(int argc, char** argv) {
  // A file that grows beyond the limit of its size (ulimit -f) is a failed write with a message.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("A rate limiter for HTTP whose RateLimit fields are exact.", "headgate");
  app.require_subcommand(1);
  app.get_formatter()->column_width(26);
  std::map<std::string, std::function<int()>> commands = {
      {"gateway", add_gateway(app)},   {"serve", add_serve(app)},
      {"check", add_check(app)},       {"simulate", add_simulate(app)},
      {"explain", add_explain(app)},   {"fetch", add_fetch(app)},
      {"top", add_top(app)},           {"peek", add_peek(app)},
      {"reset", add_reset(app)},       {"why", add_why(app)},
      {"override", add_override(app)}, {"schema", add_schema(app)}};
  commands["completion"] = add_completion(app);
  commands["help"] = add_help(app);  // after all others, which it offers to completions
  app.set_version_flag("--version", version_text(), "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  for (CLI::App* command : app.get_subcommands({})) {
    command->set_version_flag("--version", version_text(), "Print the version and exit");
    command->set_help_flag("-h,--help", "Print this help and exit");
    refuse_missing_values(*command);
  }
  if (argc > 1 && !is_command(app, argv[1])) return wrong_usage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return finished(app.exit(success));  // --help and --version
  } catch (const CLI::ParseError& error) {
    std::string command;
    std::string what = error.what();
    for (CLI::App* parsed : app.get_subcommands()) {
      command = ' ' + parsed->get_name();
      // CLI11 says first what is missing. Usually that is what the unknown option was meant to be.
      if (const auto unknown = no_such_option(*parsed)) what = *unknown;
    }
    print_error("headgate" + command + ": " + what);
    std::cerr << "Try 'headgate" << command << " --help'.\n";
    return wrong_usage;
  }
  return finished(commands.at(app.get_subcommands().front()->get_name())());
}

}  // namespace
}  // namespace headgate::cli

namespace {

// Opens /dev/null for each standard stream that the caller has closed. Otherwise the next file or
// socket would get its number, and output meant for the stream. Reading from it returns the end of
// the input; writing to standard output fails.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  try {
    return headgate::cli::run(argc, argv);
  } catch (const std::exception& error) {
    headgate::cli::print_error(std::string("headgate: ") + error.what());
    return headgate::cli::input_fault;
  }
}
