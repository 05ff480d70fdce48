#include "headgate/sim/busiest_window.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace headgate::sim {

void BusiestWindow::add(Instant at, std::uint64_t units, Nanos window, Order order) {
  if (order == Order::time) {
    // A busiest window can be chosen to end at an arrival. Arrivals that have left it by then never
    // count again.
    while (!arrivals_.empty() && at.ns - arrivals_.oldest().at.ns >= window) {
      held_ -= arrivals_.oldest().units;
      arrivals_.drop_oldest();
    }
    held_ += units;
    peak_ = std::max(peak_, held_);
  }
  arrivals_.add({at, units});
}

std::uint64_t BusiestWindow::units(Nanos window, Order order) const {
  if (order == Order::time) {
    constexpr u128 most = std::numeric_limits<std::uint64_t>::max();
    return static_cast<std::uint64_t>(std::min(peak_, most));
  }
  std::vector<Arrival> sorted = arrivals_.all();
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  BusiestWindow in_order;
  for (const Arrival& arrival : sorted) {
    in_order.add(arrival.at, arrival.units, window, Order::time);
  }
  return in_order.units(window, Order::time);
}

}  // namespace headgate::sim
