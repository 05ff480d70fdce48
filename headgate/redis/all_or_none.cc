#include "headgate/redis/all_or_none.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headgate::redis {
namespace {

// What is admitted takes nothing, and shows what is left. What is denied costs what its law says.
// Refunds and debits are made.
limit::Decision decide_denied(const store::Charge& charge, KeyState& state, Instant now) {
  using limit::Op;
  KeyState taken = state;
  const limit::Decision decision = taken.apply(charge, now);
  const bool takes = charge.op == Op::spend || charge.op == Op::peek;
  if (takes && decision.admitted) return state.apply(charge, Op::peek, 0, now);
  state = std::move(taken);
  return decision;
}

}  // namespace

bool decide_all_or_none(std::span<const store::Charge> charges, std::span<KeyState> states,
                        Instant now, std::span<limit::Decision> decisions) {
  if (charges.size() == 1) {
    decisions[0] = states[0].apply(charges[0], now);
    return decisions[0].admitted;
  }
  std::vector<KeyState> taken(states.begin(), states.end());
  bool admitted = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    decisions[i] = taken[i].apply(charges[i], now);
    admitted = admitted && decisions[i].admitted;
  }
  if (admitted) {
    std::move(taken.begin(), taken.end(), states.begin());
  } else {
    decide_denied(charges, states, now, decisions);
  }
  return admitted;
}

void decide_denied(std::span<const store::Charge> charges, std::span<KeyState> states, Instant now,
                   std::span<limit::Decision> decisions) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    decisions[i] = decide_denied(charges[i], states[i], now);
  }
}

}  // namespace headgate::redis
