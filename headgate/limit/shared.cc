#include "headgate/limit/shared.h"

#include <algorithm>

namespace headgate::limit {

Quota share_of(const Quota& quota, unsigned percent) noexcept {
  Quota share = quota;
  if (quota.units == 0 || percent >= 100) return share;
  // units_max * 100 fits into 64 bits.
  share.units = std::max<std::uint64_t>(quota.units * percent / 100, 1);
  if (quota.count != 0) {
    share.period = std::min((quota.period * 100 + percent - 1) / percent, Quota::window_max);
  }
  return share;
}

}  // namespace headgate::limit
