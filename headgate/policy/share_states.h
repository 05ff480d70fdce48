// Whether grants of one policy can be counted on the same state.
#pragma once

#include "headgate/policy/policy.h"

namespace headgate::policy {

// Whether requests under either grant leave what was spent under the other: a state is cut to the
// window with which it is used, and a debt of fixed windows to the quota; and of the two states of
// the linear law, each request sees the one of its own law. `terms`: of both.
[[nodiscard]] inline bool share_states(const limit::Terms& terms, const Grant& a,
                                       const Grant& b) noexcept {
  const bool cuts_debts =
      terms.algorithm == limit::Algorithm::fixed_window && (terms.late || terms.delay > 0);
  return a.quota.window == b.quota.window && (!cuts_debts || a.quota.units == b.quota.units) &&
         a.law.index() == b.law.index();
}

}  // namespace headgate::policy
