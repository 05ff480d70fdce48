// The time of a decision whose clock was read before the state that it finds was written.
#pragma once

#include <algorithm>

#include "headgate/base/instant.h"
#include "headgate/limit/linear.h"
#include "headgate/limit/log.h"
#include "headgate/store/clock.h"

namespace headgate::store {

// Whether a state is of a later time than `now`.
template <class L, class State>
[[nodiscard]] constexpr bool is_ahead(const L& law, const State& state, Instant now) noexcept {
  if constexpr (limit::ReadableLog<State>) {
    return state.size() > 0 && Nanos{state.get(state.size() - 1).time} > now.ns;
  } else if constexpr (requires { law.is_ahead(state, now); }) {
    return law.is_ahead(state, now);
  } else if constexpr (requires { state.start(); }) {
    return state.start() > now.ns;
  } else {
    return state.time() > now.ns;
  }
}

// Whether a denial at `now`, which costs, can have left this state, though it is ahead.
template <class Ticks>
[[nodiscard]] constexpr bool may_be_of_denial(const limit::Linear<Ticks>& law, const Ticks& state,
                                              Instant now) noexcept {
  return law.denial_costs() && state <= law.ticks(now) + 2 * law.window() + law.debt();
}
template <class L, class State>
[[nodiscard]] constexpr bool may_be_of_denial(const L&, const State&, Instant) noexcept {
  return false;
}

// Returns `now`, or if the state is of a later time, the time on the clock, where that is later. A
// law takes a later state for one from before the clock went back, and moves it back: a request
// that was stopped between its look at the clock and its look at the state would give units back.
// `shift`: how far the law's clock is ahead of this one [ns]. A caller may also pass times of long
// ago. To these, what a denial has left is on time, though by the clock its quota is full.
template <class L, class State>
[[nodiscard]] inline Instant current(const L& law, const State& state, Instant now,
                                     const Clock& clock, Nanos shift = 0) noexcept {
  if (!is_ahead(law, state, now) || clock.is_still()) return now;
  const Instant read{clock.now().ns + shift};
  if (may_be_of_denial(law, state, now) && law.full_at(state) <= read.ns) return now;
  return std::max(now, read);
}

}  // namespace headgate::store
