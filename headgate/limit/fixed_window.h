// The fixed window: a count that is reset to 0 at the end of its window.
//
// The first admitted request opens a window, which lasts [start, start + w). Aligned windows start
// at multiples of w, plus an offset, since 1970, or are those of a calendar. A key may spend a
// whole quota at the end of one window and another one at the start of the next; the fields tell
// clients so. Debts (Op::debit) are added to the next window.
//
// Pure and exact: no clock, no allocation, no rounding, no failure after construction. All
// functions are thread-safe. Derivation: docs/algorithms.md#fixed-window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/calendar.h"
#include "headgate/limit/coarse.h"
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
    // The same, if the memory is not damaged.
    [[nodiscard]] constexpr Nanos clamped_start() const noexcept {
      return Answer::clamped({start()});
    }
  };

  // std::nullopt if the quota or the window is out of range, their product needs more than 128
  // bits, or a denial has a penalty: denied requests either count (Denied::spend) or do not. A
  // quota of 0 is accepted only if they count.
  [[nodiscard]] static constexpr std::optional<FixedWindow> make(const Quota& quota,
                                                                 const Terms& terms) noexcept {
    const bool counts_denied = terms.denied == Denied::spend;
    const Quota least{counts_denied && quota.units == 0 ? 1 : quota.units, quota.window};
    if (!Answer::servable(least)) return std::nullopt;
    if (terms.denied == Denied::penalty || terms.penalty != 0) return std::nullopt;
    if (terms.aligned && (terms.offset < 0 || terms.offset > quota.window)) return std::nullopt;
    if (terms.delay < 0 || (terms.delay > 0 && counts_denied)) return std::nullopt;
    if (terms.calendar != nullptr && (!terms.aligned || terms.offset != 0)) return std::nullopt;
    FixedWindow law;
    law.answer_ = Answer(quota, terms);
    law.counts_denied_ = counts_denied;
    law.owes_ = terms.late || terms.delay > 0;
    law.late_ = terms.late;
    law.delay_ = terms.delay;
    law.waits_ = terms.waits;
    law.most_ = law.owes_            ? 2 * quota.units
                : law.counts_denied_ ? std::numeric_limits<std::uint64_t>::max()
                                     : quota.units;
    law.names_end_ = terms.reset == Reset::window;
    law.offset_ = terms.offset;
    law.aligned_ = terms.aligned;
    law.calendar_ = terms.calendar;
    return law;
  }

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return answer_.quota(); }
  [[nodiscard]] constexpr Parameters parameters() const noexcept {
    return {{answer_.quota(), answer_.window()},
            {.denied = counts_denied_ ? Denied::spend : Denied::free,
             .reset = answer_.reset(),
             .algorithm = Algorithm::fixed_window,
             .late = late_,
             .delay = delay_,
             .waits = waits_,
             .aligned = aligned_,
             .offset = offset_,
             .calendar = calendar_}};
  }
  // Whether windows follow the clock. If so, `now` must be wall time [ns since 1970].
  [[nodiscard]] constexpr bool aligned() const noexcept { return aligned_; }
  // Whose windows these are; nullptr: all windows are equally long.
  [[nodiscard]] constexpr const Calendar* calendar() const noexcept { return calendar_; }
  // What a store needs that counts elsewhere: w, and after which time aligned windows begin [ns].
  [[nodiscard]] constexpr Nanos window() const noexcept { return answer_.window(); }
  [[nodiscard]] constexpr Nanos offset() const noexcept { return offset_; }
  [[nodiscard]] constexpr bool denial_costs() const noexcept { return counts_denied_; }
  // How long a spend may wait [ns], and whether a key may owe anything for that.
  [[nodiscard]] constexpr Nanos ahead() const noexcept { return waits_ ? delay_ : 0; }
  // The linear law for keys that share a state.
  [[nodiscard]] constexpr Coarse coarse() const noexcept {
    return {answer_, counts_denied_ ? Denied::spend : Denied::free, owes_ ? answer_.window() : 0};
  }

  // Takes `cost` units at `now` if they are available; with Terms::waits also those of the next
  // window, if that begins within the delay. If denials count, each adds its cost to the
  // count (also a cost above the quota): until the window ends, or a refund has brought the count
  // back to the quota, everything is denied, also a cost of 0.
  [[nodiscard]] constexpr Step<State> spend(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    Seen seen = state_at(state, at);
    const bool admitted = passes(seen, cost);
    const std::uint64_t before = seen.used;
    if (!admitted && comes_soon(seen, at, cost)) {
      const Nanos waits = wait(seen, at, cost);
      seen.used = std::max(seen.used, quota()) + cost;  // nobody passes before it
      Step<State> step{seen.state(), true, admission(seen, at)};
      step.decision.wait = waits;
      return step;
    }
    if (admitted) {
      seen.used += cost;
    } else if (counts_denied_) {
      seen.used += std::min(cost, most_ - seen.used);
    }
    return {seen.state(), seen.moved || seen.used != before,
            admitted ? admission(seen, at) : denial(seen, at, cost)};
  }

  // Whether spend() would admit.
  [[nodiscard]] constexpr bool admits(const std::optional<State>& state, std::uint64_t cost,
                                      Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    const Seen seen = state_at(state, at);
    return passes(seen, cost) || comes_soon(seen, at, cost);
  }

  // Decides as spend() would and takes nothing. A cost of 0 reads the state and is never denied.
  [[nodiscard]] constexpr Step<State> peek(const std::optional<State>& state, std::uint64_t cost,
                                           Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    const Seen seen = state_at(state, at);
    return {seen.state(), seen.moved,
            cost == 0 ? admission(seen, at) : spend(state, cost, now).decision};
  }

  // Gives back up to `cost` units of the current window's count; Quota::cost_max of them: all.
  [[nodiscard]] constexpr Step<State> refund(const std::optional<State>& state, std::uint64_t cost,
                                             Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    Seen seen = state_at(state, at);
    const std::uint64_t counted = seen.used + seen.beyond;
    const std::uint64_t given = cost >= Quota::cost_max ? counted : std::min(cost, counted);
    seen.used = std::min(counted - given, most_);
    seen.beyond = counted - given - seen.used;
    return {seen.state(), seen.moved || given > 0, admission(seen, at)};
  }

  // Takes `cost` units that are already spent. Never denied. The debt is at most one quota; without
  // Terms::late and Terms::delay there is none.
  [[nodiscard]] constexpr Step<State> debit(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Nanos at = Answer::clamped(now);
    Seen seen = state_at(state, at);
    const std::uint64_t most = owes_ ? most_ : std::max(quota(), seen.used);
    const std::uint64_t taken = std::min(cost, most - seen.used);
    seen.used += taken;
    return {seen.state(), seen.moved || taken > 0, admission(seen, at)};
  }

  // When the quota is full again [ns]. From then on the state is not needed. May be too late for a
  // state that a law of other windows wrote.
  [[nodiscard]] constexpr Nanos full_at(const State& state) const noexcept {
    if (state.used == 0) return state.start();
    const Nanos end = window_end(state.clamped_start());
    return debt(state.used) > 0 ? window_end(end) : end;
  }

 private:
  // The state at the time of a request.
  struct Seen {
    Nanos start = 0;
    Nanos end = 0;  // of the window
    std::uint64_t used = 0;
    bool moved = false;  // differs from the stored state
    // What the stored count has above `most_`, because it was counted under a larger quota. It has
    // no effect here, and is kept for the case that the larger quota comes back.
    std::uint64_t beyond = 0;

    [[nodiscard]] constexpr State state() const noexcept {
      return {static_cast<std::int64_t>(start >> 64), static_cast<std::uint64_t>(start),
              used + beyond};
    }
  };

  // The window that contains a moment; unaligned: that begins at it.
  [[nodiscard]] constexpr Calendar::Window window_from(Nanos moment) const noexcept {
    if (calendar_ != nullptr) return calendar_->window_at(moment);
    const Nanos begin = aligned_ ? answer_.aligned(moment, offset_) : moment;
    return {begin, begin + answer_.window()};
  }
  // The end of the window that begins at this moment.
  [[nodiscard]] constexpr Nanos window_end(Nanos begin) const noexcept {
    return calendar_ != nullptr ? calendar_->window_at(begin).end : begin + answer_.window();
  }

  // The window at a time at which no window is open.
  [[nodiscard]] constexpr Seen window_at(Nanos at, std::uint64_t used, bool moved,
                                         std::uint64_t beyond = 0) const noexcept {
    const Calendar::Window window = window_from(at);
    return {window.begin, window.end, used, moved, beyond};
  }

  [[nodiscard]] constexpr Seen state_at(const std::optional<State>& state,
                                        Nanos at) const noexcept {
    if (!state || state->used == 0) return window_at(at, 0, false);
    const std::uint64_t used = std::min(state->used, most_);
    const std::uint64_t beyond = state->used - used;
    if (state->start() > at) return window_at(at, used, true, beyond);
    // Aligned windows may have been others when this one was opened. It is the one that contains
    // the stored start now.
    const auto [begin, end] = window_from(state->clamped_start());
    if (at < end) return {begin, end, used, false, beyond};
    if (debt(used) > 0) {
      const Nanos next_end = window_end(end);
      if (at < next_end) return {end, next_end, debt(used), true};
    }
    return window_at(at, 0, true);
  }

  [[nodiscard]] constexpr std::uint64_t available(const Seen& seen) const noexcept {
    return quota() - std::min(seen.used, quota());
  }

  [[nodiscard]] constexpr bool passes(const Seen& seen, std::uint64_t cost) const noexcept {
    return cost <= available(seen) && !(counts_denied_ && seen.used > quota());
  }

  // Whether the next window, which begins within the delay, has as many units left. REQUIRES: this
  // one has not.
  [[nodiscard]] constexpr bool comes_soon(const Seen& seen, Nanos at,
                                          std::uint64_t cost) const noexcept {
    return waits_ && seen.end - at <= delay_ && cost <= most_ - std::max(seen.used, quota());
  }

  // The units with which the next window starts.
  [[nodiscard]] constexpr std::uint64_t debt(std::uint64_t used) const noexcept {
    return owes_ && used > quota() ? used - quota() : 0;
  }

  [[nodiscard]] constexpr Nanos wait(const Seen& seen, Nanos at,
                                     std::uint64_t units) const noexcept {
    if (passes(seen, units)) return 0;
    return (debt(seen.used) + units <= quota() ? seen.end : window_end(seen.end)) - at;
  }

  [[nodiscard]] constexpr Decision admission(const Seen& seen, Nanos at) const noexcept {
    Decision d = answer_.admission(available(seen),
                                   [&](std::uint64_t units) { return wait(seen, at, units); });
    if (names_end_ && quota() > 0) d.reset = Answer::seconds(seen.end - at);
    return d;
  }

  [[nodiscard]] constexpr Decision denial(const Seen& seen, Nanos at,
                                          std::uint64_t cost) const noexcept {
    Decision d = answer_.denial(available(seen), cost,
                                [&](std::uint64_t units) { return wait(seen, at, units); });
    if (names_end_ && cost > quota() && quota() > 0) {
      const Nanos end = seen.end - at;
      d.reset = Answer::seconds(end);
      if (counts_denied_) d.wait = end;
    }
    return d;
  }

  Answer answer_;
  std::uint64_t most_ = 0;  // the largest count that has an effect, with debts and denials
  Nanos offset_ = 0;
  const Calendar* calendar_ = nullptr;
  bool aligned_ = false;
  bool late_ = false;
  bool owes_ = false;   // debts are added to the next window
  bool waits_ = false;  // Terms::waits
  Nanos delay_ = 0;     // Terms::delay
  bool counts_denied_ = false;
  bool names_end_ = false;  // Reset::window
};

}  // namespace headgate::limit
