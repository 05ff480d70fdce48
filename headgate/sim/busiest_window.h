// The most units that came within any window.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/base/int128.h"
#include "headgate/sim/arrivals.h"

namespace headgate::sim {

// How times come: of a log in their order, of a trace in any.
enum class Order : std::uint8_t { time, any };

// Exact. In the order of time it keeps what one window holds, in a few bytes for each time at which
// something came; in any order, all that ever came.
class BusiestWindow {
 public:
  // `window` [ns] is the same each time.
  void add(Instant at, std::uint64_t units, Nanos window, Order order);

  // Most units in any half-open span of one window; saturates.
  [[nodiscard]] std::uint64_t units(Nanos window, Order order) const;

 private:
  Arrivals arrivals_;
  u128 held_ = 0;  // sum of arrivals_
  u128 peak_ = 0;
};

}  // namespace headgate::sim
