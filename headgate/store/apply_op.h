// From a charge's op to the law's function of that name.
#pragma once

#include <cstdint>

#include "headgate/limit/law.h"

namespace headgate::store {

// `state` is what the law keeps of a key: an optional state, or a log.
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
