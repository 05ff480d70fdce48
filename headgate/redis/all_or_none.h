// Decides the charges of a bundle over states that do not change meanwhile.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "headgate/redis/key_state.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// Decides one charge of a bundle that is denied: what is admitted takes nothing, and shows what is
// left. What is denied costs what its law says. Refunds and debits are made.
template <class State>
limit::Decision decide_denied(const store::Charge& charge, State& state, Instant now) {
  using limit::Op;
  State taken = state;
  const limit::Decision decision = taken.apply(charge, now);
  const bool takes = charge.op == Op::spend || charge.op == Op::peek;
  if (takes && decision.admitted) return state.apply(charge, Op::peek, 0, now);
  state = std::move(taken);
  return decision;
}

// The same for all charges of a bundle that is denied because of a charge that is not among these.
template <class State>
void decide_denied(std::span<const store::Charge> charges, std::span<State> states, Instant now,
                   std::span<limit::Decision> decisions) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    decisions[i] = decide_denied(charges[i], states[i], now);
  }
}

// As store::Bundle promises. Changes `states`, one per charge, and writes `decisions`. Returns
// whether every charge is admitted. `taken`: as many states, to work with; not used for one charge.
template <class State>
[[nodiscard]] bool decide_all_or_none(std::span<const store::Charge> charges,
                                      std::span<State> states, std::span<State> taken, Instant now,
                                      std::span<limit::Decision> decisions) {
  if (charges.size() == 1) {
    decisions[0] = states[0].apply(charges[0], now);
    return decisions[0].admitted;
  }
  bool admitted = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    taken[i] = states[i];
    decisions[i] = taken[i].apply(charges[i], now);
    admitted = admitted && decisions[i].admitted;
  }
  if (admitted) {
    for (std::size_t i = 0; i < charges.size(); ++i) states[i] = std::move(taken[i]);
  } else {
    decide_denied<State>(charges, states, now, decisions);
  }
  return admitted;
}

// The same; may throw std::bad_alloc.
[[nodiscard]] inline bool decide_all_or_none(std::span<const store::Charge> charges,
                                             std::span<KeyState> states, Instant now,
                                             std::span<limit::Decision> decisions) {
  std::vector<KeyState> taken(states.begin(), charges.size() == 1 ? states.begin() : states.end());
  return decide_all_or_none<KeyState>(charges, states, taken, now, decisions);
}

}  // namespace headgate::redis
