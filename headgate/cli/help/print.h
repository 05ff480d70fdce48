// Output of commands that print one text.
#pragma once

#include <iostream>
#include <string>

#include "headgate/cli/exit_status.h"

namespace headgate::cli {

// Prints a text on standard output and returns the exit status. main() finds out whether standard
// output could be written.
inline ExitStatus print(const std::string& text) {
  std::cout << text;
  return done;
}

}  // namespace headgate::cli
