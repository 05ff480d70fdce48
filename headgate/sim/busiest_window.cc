#include "headgate/sim/busiest_window.h"

#include <algorithm>
#include <limits>

namespace headgate::sim {

void BusiestWindow::add(Instant at, std::uint64_t units, Nanos window, Order order) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (order == Order::time) {
    // It may as well end at an arrival; what left it by then never counts again.
    while (first_ < arrivals_.size() && at.ns - arrivals_[first_].at.ns >= window) {
      held_ -= arrivals_[first_++].units;
    }
    if (2 * first_ > arrivals_.size()) {
      arrivals_.erase(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    held_ += units;
    peak_ = std::max(peak_, held_);
  }
  if (first_ < arrivals_.size() && arrivals_.back().at == at &&
      units <= most - arrivals_.back().units) {
    arrivals_.back().units += units;
  } else {
    arrivals_.push_back({at, units});
  }
}

std::uint64_t BusiestWindow::units(Nanos window, Order order) const {
  if (order == Order::time) {
    constexpr u128 most = std::numeric_limits<std::uint64_t>::max();
    return static_cast<std::uint64_t>(std::min(peak_, most));
  }
  std::vector<Arrival> sorted = arrivals_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  BusiestWindow in_order;
  for (const Arrival& arrival : sorted) {
    in_order.add(arrival.at, arrival.units, window, Order::time);
  }
  return in_order.units(window, Order::time);
}

}  // namespace headgate::sim
