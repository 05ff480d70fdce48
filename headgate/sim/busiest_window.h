// The most units that came within any window.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/base/int128.h"
#include "headgate/sim/arrivals.h"

namespace headgate::sim {

// The order of the times: sorted for a log, any order for a trace.
enum class Order : std::uint8_t { time, any };

// Exact. With Order::time it keeps the arrivals of one window, in a few bytes per time of arrival;
// with Order::any, all arrivals.
class BusiestWindow {
 public:
  // `window` [ns] is the same in all calls.
  void add(Instant at, std::uint64_t units, Nanos window, Order order);

  // Returns the most units in any half-open span of one window; saturates.
  [[nodiscard]] std::uint64_t units(Nanos window, Order order) const;

 private:
  Arrivals arrivals_;
  u128 held_ = 0;  // sum of arrivals_
  u128 peak_ = 0;
};

}  // namespace headgate::sim
