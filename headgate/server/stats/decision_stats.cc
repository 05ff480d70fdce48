#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {

void DecisionStats::add_to(DoorTotals& totals, DoorKind door) const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Door& seen = doors_[static_cast<std::size_t>(door)];
  totals.latency += seen.latency;
  totals.opened += seen.opened.load(relaxed);
  totals.closed += seen.closed.load(relaxed);
  totals.refused += seen.refused.load(relaxed);
  totals.crowded_out += seen.crowded_out.load(relaxed);
  totals.accept_failures += seen.accept_failures.load(relaxed);
  totals.wrong_tokens += seen.wrong_tokens.load(relaxed);
  totals.unreadable += seen.unreadable.load(relaxed);
}

std::uint64_t DecisionStats::accept_failures() const noexcept {
  std::uint64_t all = 0;
  for (const Door& door : doors_) all += door.accept_failures.load(std::memory_order_relaxed);
  return all;
}

}  // namespace headgate::server
