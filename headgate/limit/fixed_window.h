// The fixed window: a count that starts anew when its window is over.
//
// A window is opened by the first admitted request and lasts [start, start + w); aligned windows
// instead start at multiples of w, plus an offset, since the epoch. A key may spend a whole quota
// at the end of one window and another one at the start of the next: that is this law, and its
// fields say so. Debts (Op::debit) are carried into the next window.
//
// Pure and exact: no clock, no allocation, no rounding, no failure after construction. All
// functions are thread-safe. Derivation: docs/algorithms.md#fixed-window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/step.h"

namespace headgate::limit {

class FixedWindow {
 public:
  struct State {
    std::int64_t start_high;  // the start [ns], 128 bits in two words
    std::uint64_t start_low;
    std::uint64_t used;  // units; 0: no window is open

    [[nodiscard]] constexpr Nanos start() const noexcept {
      return static_cast<Nanos>(static_cast<u128>(static_cast<u128>(start_high) << 64) | start_low);
    }
  };

  // std::nullopt where the quota is 0 or out of range, its product with the window is beyond 128
  // bits, or a denial has a penalty: denied requests either count (Denied::spend) or don't.
  [[nodiscard]] static constexpr std::optional<FixedWindow> make(const Quota& quota,
                                                                 const Terms& terms) noexcept {
    if (!Answer::servable(quota)) return std::nullopt;
    if (terms.denied == Denied::penalty || terms.penalty != 0) return std::nullopt;
    if (terms.aligned && (terms.offset < 0 || terms.offset > quota.window)) return std::nullopt;
    FixedWindow law;
    law.answer_ = Answer(quota, terms);
    law.most_ = terms.late ? 2 * quota.units : quota.units;
    law.offset_ = terms.offset;
    law.aligned_ = terms.aligned;
    law.counts_denied_ = terms.denied == Denied::spend;
    return law;
  }

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return answer_.quota(); }
  [[nodiscard]] constexpr bool denial_costs() const noexcept { return counts_denied_; }

  // Asks for `cost` units at `now`; takes them if they are there. Where denials count, one uses up
  // the rest of the window, even one of a cost above the quota.
  [[nodiscard]] constexpr Step<State> spend(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Nanos at = Answer::held(now);
    Seen seen = look(state, at);
    const bool admitted = cost <= available(seen);
    const std::uint64_t before = seen.used;
    if (admitted) {
      seen.used += cost;
    } else if (counts_denied_) {
      seen.used = std::max(seen.used, quota());
    }
    return {seen.state(), seen.moved || seen.used != before,
            admitted ? admission(seen, at) : denial(seen, at, cost)};
  }

  // Whether spend() would admit: its answer without the numbers.
  [[nodiscard]] constexpr bool admits(const std::optional<State>& state, std::uint64_t cost,
                                      Instant now) const noexcept {
    return cost <= available(look(state, Answer::held(now)));
  }

  // Answers as spend() would and takes nothing. A cost of 0 is a look: never denied.
  [[nodiscard]] constexpr Step<State> peek(const std::optional<State>& state, std::uint64_t cost,
                                           Instant now) const noexcept {
    const Seen seen = look(state, Answer::held(now));
    return {seen.state(), seen.moved, spend(state, cost, now).decision};
  }

  // Gives back `cost` units of the current window, at most what is used.
  [[nodiscard]] constexpr Step<State> refund(const std::optional<State>& state, std::uint64_t cost,
                                             Instant now) const noexcept {
    const Nanos at = Answer::held(now);
    Seen seen = look(state, at);
    const std::uint64_t given = std::min(cost, seen.used);
    seen.used -= given;
    return {seen.state(), seen.moved || given > 0, admission(seen, at)};
  }

  // Takes `cost` units that are already spent. Never denied; the debt is at most a quota, and none
  // without Terms::late.
  [[nodiscard]] constexpr Step<State> debit(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Nanos at = Answer::held(now);
    Seen seen = look(state, at);
    const std::uint64_t taken = std::min(cost, most_ - seen.used);
    seen.used += taken;
    return {seen.state(), seen.moved || taken > 0, admission(seen, at)};
  }

  // When the state says nothing any more [ns].
  [[nodiscard]] constexpr Nanos full_at(const State& state) const noexcept {
    if (state.used == 0) return state.start();
    return state.start() + answer_.window() * (state.used > quota() ? 2 : 1);
  }

 private:
  // The state as a request finds it.
  struct Seen {
    Nanos start = 0;
    std::uint64_t used = 0;
    bool moved = false;  // it differs from what is stored

    [[nodiscard]] constexpr State state() const noexcept {
      return {static_cast<std::int64_t>(start >> 64), static_cast<std::uint64_t>(start), used};
    }
  };

  [[nodiscard]] constexpr Nanos window_start(Nanos at) const noexcept {
    if (!aligned_) return at;
    return offset_ + floor_div(at - offset_, answer_.window()) * answer_.window();
  }

  [[nodiscard]] constexpr Seen look(const std::optional<State>& state, Nanos at) const noexcept {
    if (!state || state->used == 0) return {window_start(at), 0, false};
    const Nanos start = state->start();
    const std::uint64_t used = std::min(state->used, most_);
    if (start > at) return {window_start(at), used, true};
    const Nanos age = at - start;
    if (age < answer_.window()) return {start, used, used != state->used};
    if (used > quota() && age < 2 * answer_.window()) {
      return {start + answer_.window(), used - quota(), true};
    }
    return {window_start(at), 0, true};
  }

  [[nodiscard]] constexpr std::uint64_t available(const Seen& seen) const noexcept {
    return quota() - std::min(seen.used, quota());
  }

  [[nodiscard]] constexpr Nanos wait(const Seen& seen, Nanos at,
                                     std::uint64_t units) const noexcept {
    if (seen.used + units <= quota()) return 0;
    const std::uint64_t debt = seen.used - std::min(seen.used, quota());
    const Nanos next = seen.start + answer_.window() - at;
    return debt + units <= quota() ? next : next + answer_.window();
  }

  [[nodiscard]] constexpr Decision admission(const Seen& seen, Nanos at) const noexcept {
    return answer_.admission(available(seen),
                             [&](std::uint64_t units) { return wait(seen, at, units); });
  }

  [[nodiscard]] constexpr Decision denial(const Seen& seen, Nanos at,
                                          std::uint64_t cost) const noexcept {
    return answer_.denial(available(seen), cost,
                          [&](std::uint64_t units) { return wait(seen, at, units); });
  }

  Answer answer_;
  std::uint64_t most_ = 0;  // units that can be used up, with debts
  Nanos offset_ = 0;
  bool aligned_ = false;
  bool counts_denied_ = false;
};

}  // namespace headgate::limit
