// Time that goes on while the process is stopped and while the machine sleeps, and that nobody
// sets.
#pragma once

#include <chrono>
#include <ctime>

namespace headgate::redis {

struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

// What a span by this clock may be longer or shorter by on another machine: a thousandth. Clocks
// that are set right by slewing differ by 500 millionths at most.
[[nodiscard]] constexpr BootClock::duration drift(BootClock::duration span) noexcept {
  return span / 1000;
}

}  // namespace headgate::redis
