// The most units that came within any window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/base/instant.h"

namespace headgate::sim {

// How times come: of a log in their order, of a trace in any.
enum class Order : std::uint8_t { time, any };

// Exact. In the order of time it keeps what one window holds; in any order, all that ever came.
class BusiestWindow {
 public:
  // `window` [ns] is the same each time.
  void add(Instant at, std::uint64_t units, Nanos window, Order order);

  // Most units in any half-open span of one window; saturates.
  [[nodiscard]] std::uint64_t units(Nanos window, Order order) const;

 private:
  struct Arrival {
    Instant at;
    std::uint64_t units;
  };

  std::vector<Arrival> arrivals_;  // from first_ on
  std::size_t first_ = 0;
  u128 held_ = 0;  // sum of arrivals_
  u128 peak_ = 0;
};

}  // namespace headgate::sim
