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
  totals.wrong_tokens += seen.wrong_tokens.load(relaxed);
  totals.unreadable += seen.unreadable.load(relaxed);
}

}  // namespace headgate::server
