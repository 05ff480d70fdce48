// Whether grants of one policy can be counted on the same state.
#pragma once

#include "headgate/limit/shared.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// Whether two grants have states of one kind. The linear law has two kinds, here and for an outage
// of what machines share; and what is leased is kept apart from what is not.
[[nodiscard]] inline bool have_one_kind(const Grant& a, const Grant& b) noexcept {
  if (a.law.index() != b.law.index()) return false;
  if (a.shared == nullptr || b.shared == nullptr) return true;
  return a.shared->outage_law.index() == b.shared->outage_law.index() &&
         (a.shared->leased > 0) == (b.shared->leased > 0);
}

// Whether requests under either grant leave what was spent under the other: a state is cut to the
// window with which it is used, and a debt of fixed windows to the quota. `terms`: of both.
[[nodiscard]] inline bool share_states(const limit::Terms& terms, const Grant& a,
                                       const Grant& b) noexcept {
  const bool cuts_debts =
      terms.algorithm == limit::Algorithm::fixed_window && (terms.late || terms.delay > 0);
  return a.quota.window == b.quota.window && (!cuts_debts || a.quota.units == b.quota.units) &&
         have_one_kind(a, b);
}

}  // namespace headgate::policy
