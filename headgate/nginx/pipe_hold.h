// A named pipe that is held open, so that nobody who opens it for writing waits for a reader.
#pragma once

namespace headgate::nginx {

// Without a reader, the pipe keeps what is written until it is full. Not thread-safe.
class PipeHold {
 public:
  PipeHold() = default;
  PipeHold(const PipeHold&) = delete;
  PipeHold& operator=(const PipeHold&) = delete;
  ~PipeHold();

  // Holds the named pipe at `path` in place of the one before; nothing if there is none, or if this
  // process may not read it.
  void hold(const char* path) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace headgate::nginx
