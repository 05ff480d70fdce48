// The progress of long work, if standard error is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headgate::cli {

// Rewrites one line on standard error. Not thread-safe.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `all` units; if `all` is 0 (unknown), `done` is in bytes. Cheap to call often.
  void show(const std::string& what, std::uint64_t done, std::uint64_t all);

  // Removes the line, so that other output can follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace headgate::cli
