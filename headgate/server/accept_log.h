// Logs that connections cannot be accepted.
#pragma once

#include <chrono>
#include <cstdint>

#include "headgate/server/engine.h"

namespace headgate::server {

// Not thread-safe.
class AcceptLog {
 public:
  using Clock = std::chrono::steady_clock;

  // `engine` outlives this.
  explicit AcceptLog(const Engine& engine) noexcept : engine_(engine) {}

  // Logs when descriptors or memory begin to be short for connections, at most every 10 s, and when
  // that is over. To be called about once per second.
  void look() { look(Clock::now()); }
  void look(Clock::time_point now);

 private:
  const Engine& engine_;
  std::uint64_t failures_ = 0;  // that were seen
  bool failing_ = false;        // and that was logged
  Clock::time_point last_{};    // when failures_ has grown
  Clock::time_point next_{};    // no line about a begin before this time
};

}  // namespace headgate::server
