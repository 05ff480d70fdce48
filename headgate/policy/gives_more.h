// Compares grants.
#pragma once

#include "headgate/policy/policy.h"

namespace headgate::policy {

// Whether a partition may use more with this grant than with a quota of `base`.
[[nodiscard]] inline bool gives_more(const Grant& grant, const limit::Quota& base) noexcept {
  const limit::Quota& own = grant.quota;
  if (grant.unlimited || own.units > base.units) return true;
  return own.units > 0 && own.window / own.units < base.window / base.units;
}

// Whether it may use less over time, also if it may use more at once. REQUIRES: both admit
// something.
[[nodiscard]] inline bool gives_less_over_time(const limit::Quota& own,
                                               const limit::Quota& base) noexcept {
  return own.window / own.units > base.window / base.units;
}

}  // namespace headgate::policy
