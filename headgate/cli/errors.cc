#include "headgate/cli/errors.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

namespace headgate::cli {
namespace {

constexpr std::string_view bold_red = "\x1b[1;31m";
constexpr std::string_view bold_yellow = "\x1b[1;33m";
constexpr std::string_view plain = "\x1b[0m";

bool has_colours() {
  const char* unwanted = std::getenv("NO_COLOR");
  if (unwanted != nullptr && *unwanted != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

void print(std::string_view line, std::string_view colour) {
  std::string text;
  const std::size_t before = std::min(line.find(": "), line.size());
  if (before < line.size() && has_colours()) {
    text.append(colour).append(line.substr(0, before)).append(plain);
    line.remove_prefix(before);
  }
  text.append(line).push_back('\n');
  std::cerr << text << std::flush;
}

}  // namespace

void print_error(std::string_view line) { print(line, bold_red); }

void print_warning(std::string_view line) { print(line, bold_yellow); }

}  // namespace headgate::cli
