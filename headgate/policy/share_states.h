// Whether grants of one policy can be counted on the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "headgate/base/instant.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// What a state depends on besides its key and the policy. Requests under grants of one kind leave
// what was spent under each other; those of two kinds need a state for each. A value.
struct StateKind {
  Nanos window = 0;            // to which a state is cut when it is used [ns]
  std::uint64_t debt = 0;      // the quota to which a debt of fixed windows is cut; 0: no debts
  std::size_t law = 0;         // index in limit::Law. The linear law has two kinds of states, here
  std::size_t outage_law = 0;  // and for an outage of what machines share
  bool leased = false;         // is kept apart in Redis from what is not

  friend bool operator==(const StateKind&, const StateKind&) = default;

  // Appends what sets states of this kind apart from those under the key's own numbers. Stores keep
  // it, so it has what a reload with other numbers leaves as it is: the window, and in what else
  // this kind differs from `own`, that of the policy's own numbers.
  void append_to(std::string& out, const StateKind& own) const;
};

// `terms`: of the grant's policy.
[[nodiscard]] StateKind state_kind(const limit::Terms& terms, const Grant& grant) noexcept;

// Whether requests under either grant can be counted on one state.
[[nodiscard]] inline bool share_states(const limit::Terms& terms, const Grant& a,
                                       const Grant& b) noexcept {
  return state_kind(terms, a) == state_kind(terms, b);
}

}  // namespace headgate::policy
