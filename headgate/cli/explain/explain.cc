#include "headgate/cli/explain/explain.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/explain/explanation.h"
#include "headgate/cli/explain/header_section.h"
#include "headgate/cli/explain/view_json.h"
#include "headgate/cli/standard_input.h"
#include "headgate/field/read/response.h"

namespace headgate::cli {
namespace {

struct Options {
  bool json = false;
  std::optional<std::int64_t> now;
};

// Reads up to 1 MiB more, so that a program that pipes a response of usual size (curl) does not
// fail with a broken pipe.
void drain(std::istream& in) {
  std::array<char, 65'536> room;
  for (int i = 0; i < 16 && in.read(room.data(), room.size()); ++i) {
  }
}

int run(const Options& options) {
  if (isatty(STDIN_FILENO) != 0) {
    std::cerr
        << "Paste a response's header section, then press Ctrl-D. Or: curl -si URL | headgate "
           "explain\n";
  }
  StandardInput in;
  const auto section = read_header_section(in);
  if (in.bad()) {
    print_error("headgate explain: standard input can't be read: " + in.error());
    return input_fault;
  }
  if (!section) {
    print_error("headgate explain: " + section.error());
    return input_fault;
  }
  const std::int64_t now = options.now.value_or(std::time(nullptr));
  if (options.json) {
    std::cout << view_json(field::read_response(section->headers(), now)) << std::flush;
  } else {
    std::cout << explanation(*section, now) << std::flush;
  }
  drain(in);
  return done;
}

}  // namespace

std::function<int()> add_explain(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "explain", "Explain the rate limit fields of a response, and how long to wait");
  command->add_flag("--json", options->json, "Print the limits as one JSON object");
  command
      ->add_option(
          "--now", options->now,
          "When the response arrived (default: now). If the response has a Date, that counts")
      ->type_name("UNIX_SECONDS")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{999'999'999'999'999}).description(""));
  command->footer(
      "Reads a header section on standard input: curl -si URL | headgate explain\n"
      "If there are several sections (a redirect, 100 Continue, CONNECT), reads the last. Ignores "
      "a body.\n"
      "Reads RateLimit and RateLimit-Policy, their forms in drafts 00 to 07, all kinds of\n"
      "X-RateLimit-..., those of Anthropic and Azure, and Retry-After.\n"
      "Exit status: 0 done, 1 the input is not a header section, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
