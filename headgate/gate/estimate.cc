#include "headgate/gate/estimate.h"

#include <algorithm>

#include "headgate/limit/quota.h"

namespace headgate::gate {

std::uint64_t Estimate::units() const noexcept {
  const std::uint64_t parts = state_ >> count_bits;
  return std::max<std::uint64_t>((parts + (1 << part_bits) - 1) >> part_bits, 1);
}

Estimate Estimate::after(std::uint64_t cost, unsigned percent) const noexcept {
  static_assert(limit::Quota::cost_max < std::uint64_t{1} << (64 - count_bits - part_bits));
  const std::uint64_t seen = std::min(cost, limit::Quota::cost_max) << part_bits;
  std::uint64_t parts = state_ >> count_bits;
  if (costs() < first) {
    parts = std::max(parts, seen);
  } else if (seen > parts) {
    parts = std::min(parts + parts / 800 * percent + percent, seen);
  } else {
    parts -= std::min(parts / 800 * (100 - percent) + 1, parts - seen);
  }
  return Estimate(parts << count_bits | std::min(costs() + 1, first));
}

}  // namespace headgate::gate
