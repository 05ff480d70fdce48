// An even rhythm of requests.
#pragma once

#include <algorithm>

#include "headgate/base/instant.h"

namespace headgate::client {

// Beats `interval` apart. Timers are late: what one beat lost, the next may make up for, up to
// `slack`, so that the rate is kept.
class Pace {
 public:
  static constexpr Nanos slack = 50'000'000;

  explicit Pace(Instant start) noexcept : last_(start) {}

  [[nodiscard]] Instant next() const noexcept { return {last_.ns + interval_}; }
  void begin(Instant now) noexcept {
    last_.ns = std::clamp(last_.ns + interval_, now.ns - slack, now.ns);
  }

  [[nodiscard]] Nanos interval() const noexcept { return interval_; }
  void set_interval(Nanos interval) noexcept { interval_ = interval; }

 private:
  Instant last_;  // the beat of the last request
  Nanos interval_ = 0;
};

}  // namespace headgate::client
