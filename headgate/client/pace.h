// Evenly spaced requests.
#pragma once

#include <algorithm>

#include "headgate/base/instant.h"

namespace headgate::client {

// Schedules requests `interval` apart. A request that begins late, as timers fire late, delays the
// following ones only by what exceeds `slack`, so that the rate is kept.
class Pace {
 public:
  // 50 ms, more than timers are late on a busy machine; it also bounds the burst after a delay.
  static constexpr Nanos slack = 50'000'000;

  explicit Pace(Instant start) noexcept : last_(start) {}

  // When the next request is due.
  [[nodiscard]] Instant next() const noexcept { return {last_.ns + interval_}; }
  void begin(Instant now) noexcept {
    last_.ns = std::clamp(last_.ns + interval_, now.ns - slack, now.ns);
  }

  [[nodiscard]] Nanos interval() const noexcept { return interval_; }
  void set_interval(Nanos interval) noexcept { interval_ = interval; }

 private:
  Instant last_;  // when the last request was due
  Nanos interval_ = 0;
};

}  // namespace headgate::client
