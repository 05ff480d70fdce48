// Shows on a terminal how far long work is; elsewhere nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headgate::cli {

// One line on standard error that is written again and again. Not thread-safe.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `all` (0: nobody knows how many); cheap to call often.
  void show(const std::string& what, std::uint64_t done, std::uint64_t all);

  // Makes room for other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace headgate::cli
