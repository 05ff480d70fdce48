// How every command ends.
#pragma once

namespace headgate::cli {

enum ExitStatus : int {
  done = 0,
  input_fault = 1,  // a file, a peer or the machine was not as the command needs it
  wrong_usage = 2,
};

}  // namespace headgate::cli
