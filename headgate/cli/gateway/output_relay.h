// Standard output of nginx, where it is not a file that nginx may open.
#pragma once

#include <string>
#include <thread>

#include "headgate/base/result.h"

namespace headgate::cli {

// nginx opens its logs by path, and "/dev/stdout" cannot be opened if it is a socket, as it is
// under systemd, or if another user made it. And a root's nginx gives what it opens again to the
// user of its workers, which must not get a terminal or /dev/null. nginx then writes to a pipe, and
// a thread of this process copies that to its own standard output. What standard output does not
// take is lost, so that nginx does not wait for a reader that is gone.
class OutputRelay {
 public:
  // Opens the pipe if there is a need for one. Fails if there can be none, and says why.
  [[nodiscard]] static Result<OutputRelay, std::string> make();

  OutputRelay(OutputRelay&& other) noexcept;
  OutputRelay& operator=(OutputRelay&&) = delete;
  // Waits until all that nginx has written is copied, if nginx has ended; no longer than a second
  // for a reader that does not read.
  ~OutputRelay();

  // What a child should have as its standard output; -1: what this process has.
  [[nodiscard]] int write_end() const noexcept { return write_end_; }
  // Begins to copy, and closes the write end: the child has it now.
  void start();

 private:
  OutputRelay(int read_end, int write_end, int leave) noexcept
      : read_end_(read_end), write_end_(write_end), leave_(leave) {}

  int read_end_;
  int write_end_;
  int leave_;  // readable once the destructor has begun
  std::thread thread_;
};

}  // namespace headgate::cli
