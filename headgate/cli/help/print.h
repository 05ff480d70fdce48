// Output of commands that print one text.
#pragma once

#include <iostream>
#include <string>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"

namespace headgate::cli {

// Prints a text on standard output and returns the exit status.
inline ExitStatus print(const std::string& text) {
  std::cout << text << std::flush;
  if (std::cout) return done;
  print_error("headgate: standard output cannot be written");
  return input_fault;
}

}  // namespace headgate::cli
