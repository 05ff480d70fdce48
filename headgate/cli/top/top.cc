#include "headgate/cli/top/top.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/printable.h"
#include "headgate/cli/terminal.h"
#include "headgate/cli/top/source.h"
#include "headgate/cli/top/view.h"
#include "headgate/net/token_file.h"

namespace headgate::cli {
namespace {

struct Options {
  std::string url = "http://127.0.0.1:8081";
  std::string token_file;
  std::vector<std::string> policies;
  unsigned length = 20;
  unsigned interval = 2;
};

int fail(const std::string& words) {
  print_error("headgate: " + words);
  return input_fault;
}

// Shows readings until the user leaves. `leave` is set if that happens during source.read(). If the
// server stops answering, shows the last reading and tries again.
void watch(TopSource& source, const Options& options, const bool& leave, Terminal& terminal,
           TopReading reading) {
  std::optional<std::string> trouble;
  for (;;) {
    Terminal::Event event{};
    do {
      const Screen screen = terminal.size();
      std::vector<std::string> lines = {"headgate top  " + printable(options.url) + "  (q leaves)"};
      if (trouble) lines.push_back("! " + *trouble + "; what follows is what it said last");
      for (std::string& line : lines) line = line.substr(0, screen.width);
      const std::size_t left = screen.height - std::min(screen.height, lines.size());
      for (std::string& line : top_lines(reading, {screen.width, left})) {
        lines.push_back(std::move(line));
      }
      if (lines.size() > screen.height) lines.resize(screen.height);
      terminal.show(lines);
      event = terminal.wait(std::chrono::seconds(options.interval));
    } while (event == Terminal::Event::resized);
    if (event == Terminal::Event::leave) return;

    auto next = source.read();
    if (leave) return;
    trouble = next ? std::nullopt : std::optional(next.error());
    if (next) reading = std::move(*next);
  }
}

int run(const Options& options) {
  std::string token;
  if (!options.token_file.empty()) {
    auto read = net::read_token(options.token_file);
    if (!read) return fail(read.error());
    token = std::move(*read);
  }
  Terminal* on_screen = nullptr;
  bool leave = false;
  TopSource source(options.url, token, {options.length, options.policies}, [&] {
    leave = leave || (on_screen != nullptr &&
                      on_screen->wait(std::chrono::milliseconds(0)) == Terminal::Event::leave);
    return leave;
  });
  auto reading = source.read();
  if (!reading) return fail(reading.error());
  if (const std::string what = source.complaint(); !what.empty()) return fail(what);
  if (!Terminal::is_there()) {
    for (const std::string& line : top_lines(*reading)) std::cout << line << '\n';
    return done;
  }
  Terminal terminal;
  on_screen = &terminal;
  watch(source, options, leave, terminal, std::move(*reading));
  on_screen = nullptr;
  return done;
}

}  // namespace

std::function<int()> add_top(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "top", "Watch the busiest and most denied partitions of a running server");
  command
      ->add_option("--url", options->url,
                   "The server's HTTP address, the gateway's --metrics, nginx's location with "
                   "headgate_dashboard, or unix:PATH")
      ->capture_default_str()
      ->type_name("URL");
  command
      ->add_option("--token-file", options->token_file,
                   "The server's token is on the first line of this file")
      ->type_name("FILE");
  command
      ->add_option("--policy", options->policies,
                   "List only partitions of this policy; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("-n", options->length, "The most partitions per list")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1, 100).description(""));
  command->add_option("--interval", options->interval, "Seconds between two requests to the server")
      ->capture_default_str()
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600).description(""));
  command->footer(
      "q or Ctrl-C ends it. If standard output is not a terminal, prints the lists once.\n"
      "Rates are those of about the last minute. A '>' marks a lower bound: with very many keys "
      "the\n"
      "exact rate is not known.\n"
      "Exit status: 0 done, 1 the server could not be reached, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
