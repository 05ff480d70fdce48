// The exit status of every command.
#pragma once

namespace headgate::cli {

enum ExitStatus : int {
  done = 0,
  input_fault = 1,  // a file, a server or the system did not give what the command needs
  wrong_usage = 2,
};

}  // namespace headgate::cli
