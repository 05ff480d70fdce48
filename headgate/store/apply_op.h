// Calls the law's function for a charge's op.
#pragma once

#include <cstdint>

#include "headgate/limit/law.h"

namespace headgate::store {

// `state` is a key's state: a std::optional<Law::State>, or a log. Returns the law's limit::Step,
// or its limit::Decision if the state is a log. `since` is only for refunds.
template <class Law, class State>
[[gnu::always_inline]] inline auto apply_op(const Law& law, State& state, limit::Op op,
                                            std::uint64_t cost, Instant now,
                                            Instant since = {}) noexcept {
  switch (op) {
    case limit::Op::spend:
      return law.spend(state, cost, now);
    case limit::Op::peek:
      return law.peek(state, cost, now);
    case limit::Op::debit:
      return law.debit(state, cost, now);
    case limit::Op::refund:
      break;
  }
  if constexpr (requires { law.refund(state, cost, now, since); }) {
    return law.refund(state, cost, now, since);
  } else {
    return law.refund(state, cost, now);
  }
}

}  // namespace headgate::store
