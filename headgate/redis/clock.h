// Whose clock decides, and what this process knows of Redis' clock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::redis {

enum class Clock : std::uint8_t {
  redis,   // that of the Redis server, always
  caller,  // the time that the caller of take() gives, and Redis' if it gives none: for tests
};

// Between replies it goes on by the monotonic clock. Thread-safe.
class KnownClock {
 public:
  KnownClock() noexcept : ahead_(ns(std::chrono::system_clock::now()) - monotonic()) {}

  // Redis replied with this time just now. So the time that is known is behind by how long the
  // reply took, and never ahead.
  void note(Instant redis) noexcept {
    ahead_.store(static_cast<std::int64_t>(redis.ns) - monotonic(), std::memory_order_relaxed);
  }

  // Until the first reply, this machine's own clock.
  [[nodiscard]] Instant now() const noexcept {
    return Instant{Nanos{monotonic()} + ahead_.load(std::memory_order_relaxed)};
  }

 private:
  template <class Time>
  [[nodiscard]] static std::int64_t ns(Time time) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  }
  [[nodiscard]] static std::int64_t monotonic() noexcept {
    return ns(std::chrono::steady_clock::now());
  }

  std::atomic<std::int64_t> ahead_;  // of the monotonic clock [ns]
};

}  // namespace headgate::redis
