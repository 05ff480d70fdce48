// What a command writes to standard error when something is wrong.
#pragma once

#include <string_view>

namespace headgate::cli {

// Writes a line. On a terminal, what is before its first ": " has a colour: the place in a file, or
// the command's name. There is no colour if the environment variable NO_COLOR has a value
// (https://no-color.org), or TERM is "dumb".
void print_error(std::string_view line);
void print_warning(std::string_view line);

}  // namespace headgate::cli
