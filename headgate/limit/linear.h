// The linear limiter (GCRA, token bucket): the whole state is one timestamp.
//
// A quota of q units refills evenly, one unit per interval w/q (or as Quota::count says). Tony
// Finch's article keeps the "not-before" time S; this law keeps tat = S + w, the moment when the
// quota is full again (the "theoretical arrival time" of ITU-T I.371). The two differ by a
// constant, but a tat in the past means "full quota" under every policy, so a table can reuse such
// a cell without knowing its policy. Derivation, rounding and a worked timeline:
// docs/algorithms.md#linear.
//
// Time is counted in ticks of 1/scale nanoseconds, chosen so that the interval w/q is a whole
// number of ticks. Therefore a state is never rounded. If q divides w [ns], the scale is 1 and 64
// bits are enough (LinearWhole); otherwise 128 bits are used (LinearExact).
//
// Pure: no clock, no allocation, no failure after construction. All functions are thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <type_traits>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/step.h"

namespace headgate::limit {

template <class Ticks>
class Linear {
 public:
  using State = Ticks;  // tat [ticks]; a new key has no state

  // std::nullopt if the quota is 0 or a parameter is out of range, or if this width is too small
  // for the policy's arithmetic. The narrow form supports windows and penalties of up to 2^59 ns
  // (18 years); the wide one supports every quota with windows of up to 4,600 years, and small
  // quotas with longer ones.
  [[nodiscard]] static constexpr std::optional<Linear> make(const Quota& quota,
                                                            const Terms& terms) noexcept {
    if (quota.units == 0 || quota.units > Quota::units_max) return std::nullopt;
    if (quota.window < 1 || quota.window > Quota::window_max) return std::nullopt;
    if ((terms.denied == Denied::penalty) != (terms.penalty > 0)) return std::nullopt;
    // `count` units return per `period`.
    const std::uint64_t count = quota.count != 0 ? quota.count : quota.units;
    const Nanos period = quota.count != 0 ? quota.period : quota.window;
    if (count > Quota::units_max || period < 1 || period > Quota::window_max) return std::nullopt;
    const auto left_over = static_cast<std::uint64_t>(period % static_cast<Nanos>(count));
    const auto common = static_cast<Nanos>(std::gcd(count, left_over));
    const Nanos scale = static_cast<Nanos>(count) / common;
    const Nanos interval = period / common;
    if (narrow && scale != 1) return std::nullopt;
    const Nanos longest = narrow ? Nanos{1} << 59 : time_max / 4;  // [ticks]
    if (interval > longest / static_cast<Nanos>(quota.units)) return std::nullopt;
    if (terms.penalty > longest / scale) return std::nullopt;
    if (terms.delay < 0 || terms.delay > longest / scale) return std::nullopt;
    if (terms.delay > 0 && terms.denied != Denied::free) return std::nullopt;
    Linear law;
    law.scale_ = static_cast<Ticks>(scale);
    law.interval_ = static_cast<Ticks>(interval);
    law.window_ = static_cast<Ticks>(interval * static_cast<Nanos>(quota.units));
    law.debt_ = static_cast<Ticks>(terms.penalty * scale);
    if (terms.late) law.debt_ = std::max(law.debt_, law.window_);
    if (terms.delay > 0) law.debt_ = std::max(law.debt_, static_cast<Ticks>(terms.delay * scale));
    if (terms.waits) law.ahead_ = static_cast<Ticks>(terms.delay * scale);
    law.latest_ = static_cast<Ticks>((time_max - 2 * law.window_ - law.debt_) / scale);
    law.quota_ = quota.units;
    if (!terms.waits) law.at_once_ = quota.units;
    law.denied_ = terms.denied;
    law.reset_ = terms.reset;
    if (quota.count != 0) law.shown_window_ = ceil_seconds(quota.window);
    law.window_class_ = span_class(quota.window);
    return law;
  }

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return quota_; }
  [[nodiscard]] constexpr Ticks scale() const noexcept { return scale_; }
  // What a store needs that does this arithmetic elsewhere: w/q, w, and how far beyond w a key may
  // owe.
  [[nodiscard]] constexpr Ticks interval() const noexcept { return interval_; }
  [[nodiscard]] constexpr Ticks window() const noexcept { return window_; }
  [[nodiscard]] constexpr Ticks debt() const noexcept { return debt_; }
  [[nodiscard]] constexpr Parameters parameters() const noexcept {
    Parameters made{{quota_, nanos(window_)},
                    {.denied = denied_, .reset = reset_, .exact = !narrow}};
    if (shown_window_ != 0) {
      made.quota = {quota_, static_cast<Nanos>(shown_window_) * nanos_per_second,
                    static_cast<std::uint64_t>(scale_), interval_};
    }
    if (ahead_ > 0) {
      made.terms.delay = nanos(ahead_);
      made.terms.waits = true;
      made.terms.late = debt_ > ahead_;
    } else if (denied_ != Denied::penalty) {
      made.terms.late = debt_ == window_;
      if (!made.terms.late) made.terms.delay = nanos(debt_);
    } else if (debt_ % scale_ == 0) {
      made.terms.penalty = nanos(debt_);
    } else {
      // The debt of late costs, one window, which is longer than the penalty.
      made.terms.penalty = 1;
      made.terms.late = true;
    }
    return made;
  }
  [[nodiscard]] constexpr bool denial_costs() const noexcept { return denied_ != Denied::free; }
  // How far beyond w a spend may go, which then waits (Terms::waits).
  [[nodiscard]] constexpr Ticks ahead() const noexcept { return ahead_; }
  [[nodiscard]] constexpr SpanClass window_class() const noexcept { return window_class_; }
  // The same law for keys that share a state.
  [[nodiscard]] constexpr Coarse coarse() const noexcept {
    return {Answer({quota_, nanos(window_)}, {.reset = reset_}), denied_, nanos(debt_)};
  }

  // Takes `cost` units at `now` if they are available; with Terms::waits also if they will be
  // within the delay, and then the decision's wait says when. A cost of 0 is admitted (except
  // during a penalty); a cost above the quota is never admitted and never charged.
  [[nodiscard, gnu::always_inline]] constexpr Step<State> spend(const std::optional<State>& tat,
                                                                std::uint64_t cost,
                                                                Instant now) const noexcept {
    const Ticks at = ticks(now);
    if (cost > quota_) return unchanged(tat, at, Denial::never);
    const Ticks full = at + window_;  // a tat here has spent the whole quota
    Ticks next = clamped(tat, at);
    next += static_cast<Ticks>(cost) * interval_;
    if (next <= full) return {next, cost > 0 || (tat && *tat > next), admission(next, at)};
    if (denied_ == Denied::free) {
      if (cost == 0) return unchanged(tat, at, Denial::no);
      if (ahead_ > 0 && next <= full + ahead_) {
        Step<State> step{next, true, admission(next, at)};
        step.decision.wait = nanos(next - full);
        return step;
      }
      return unchanged(tat, at, Denial::yes, cost);
    }
    Step<State> step{next, true, {}};
    step.decision = denial(next, at, cost);
    return step;
  }

  // spends() and admit() together are the most frequent spend() of a store with concurrent writers:
  // it writes the state before it computes the decision's divisions, so that the time in which
  // another writer can interfere is short (`build/release/bin/steps_bench`). `at` is ticks(now).
  //
  // Whether a spend is admitted at once and takes something. If so, changes `tat` to the state
  // after it. Always false with Terms::waits.
  [[nodiscard, gnu::always_inline]] constexpr bool spends(State& tat, std::uint64_t cost,
                                                          Ticks at) const noexcept {
    if (cost == 0 || cost > at_once_) return false;
    tat = clamped(tat, at) + static_cast<Ticks>(cost) * interval_;
    return tat <= at + window_;
  }
  // Writes the decision of an admitted spend, in place: to copy a decision takes as long as its
  // arithmetic (`build/release/bin/steps_bench`). `tat` is the state after the spend.
  [[gnu::always_inline]] constexpr void admit(State tat, Ticks at,
                                              Decision& decision) const noexcept {
    const std::uint64_t remaining = available(tat, at);
    Ticks reset = 0;
    if (reset_ == Reset::full) {
      reset = until(quota_, tat, at);
    } else {
      if (remaining < quota_) reset = until(remaining + 1, tat, at);
      if (reset_ == Reset::pace) reset = std::max(reset, static_cast<Ticks>(remaining) * interval_);
    }
    decision.admitted = true;
    decision.remaining = remaining;
    decision.reset = seconds(reset);
    if (shown_window_ != 0 && reset_ == Reset::pace) {
      decision.reset = std::max(decision.reset, shown_pace(remaining));
    }
    decision.unkept = false;
    decision.wait = 0;
  }
  [[nodiscard]] constexpr Ticks ticks(Instant now) const noexcept {
    Ticks ns = static_cast<Ticks>(now.ns);
    if (ns != now.ns) ns = now.ns > 0 ? latest_ : -latest_;
    if (ns > latest_) ns = latest_;
    if (ns < -latest_) ns = -latest_;
    return ns * scale_;
  }

  // Whether spend() would admit.
  [[nodiscard]] constexpr bool admits(const std::optional<State>& tat, std::uint64_t cost,
                                      Instant now) const noexcept {
    if (cost > quota_) return false;
    if (cost == 0 && denied_ == Denied::free) return true;
    const Ticks at = ticks(now);
    return clamped(tat, at) + static_cast<Ticks>(cost) * interval_ <= at + window_ + ahead_;
  }

  // Decides as spend() would and takes nothing. A cost of 0 reads the state and is never denied.
  [[nodiscard]] constexpr Step<State> peek(const std::optional<State>& tat, std::uint64_t cost,
                                           Instant now) const noexcept {
    const Ticks at = ticks(now);
    Step<State> step = unchanged(tat, at, Denial::no);
    if (cost == 0) return step;
    const Step<State> answer = spend(tat, cost, now);
    step.decision = answer.decision;
    return step;
  }

  // Gives back `cost` units, at most up to a full quota. Quota::cost_max of them: all, also of the
  // longest penalty.
  [[nodiscard]] constexpr Step<State> refund(const std::optional<State>& tat, std::uint64_t cost,
                                             Instant now) const noexcept {
    const Ticks at = ticks(now);
    if (!tat || *tat <= at) return unchanged(std::nullopt, at, Denial::no);
    const Ticks before = std::min(*tat, latest_debt(at));
    const Ticks owed = ceil_div(before - at, interval_);  // units
    const bool all = cost >= Quota::cost_max || static_cast<Ticks>(cost) >= owed;
    const Ticks next = all ? at : before - static_cast<Ticks>(cost) * interval_;
    return {next, next != *tat, admission(next, at)};
  }

  // Takes `cost` units that are already spent. Never denied. The debt is at most one quota (or the
  // penalty or delay, if that is longer); without Terms::late and Terms::delay there is none.
  [[nodiscard]] constexpr Step<State> debit(const std::optional<State>& tat, std::uint64_t cost,
                                            Instant now) const noexcept {
    const Ticks at = ticks(now);
    const Ticks most = at + window_ + debt_;
    const Ticks before = clamped(tat, at);
    Ticks next = before + static_cast<Ticks>(std::min(cost, 2 * quota_)) * interval_;
    if (next > most) next = most;
    return {next, next != before || (tat && *tat > next), admission(next, at)};
  }

  // Whether the functions above cut the state, as if it were from before the clock went back. Also
  // one on time that a denial has left, which costs.
  [[nodiscard]] constexpr bool is_ahead(const State& tat, Instant now) const noexcept {
    return tat > ticks(now) + window_ + debt_;
  }

  // When the quota is full again [ns, rounded up]. From then on the state is not needed.
  [[nodiscard]] constexpr Nanos full_at(const State& tat) const noexcept {
    return ceil_div(static_cast<Nanos>(tat), static_cast<Nanos>(scale_));
  }
  // The state of a key whose quota was to be full at `full_at` [ns] under another law. If that is
  // later than any time that fits into a state, returns the latest one that fits: a full debt.
  [[nodiscard]] constexpr State state_from(Nanos full_at) const noexcept {
    const auto most = static_cast<Nanos>(time_max / scale_);
    return static_cast<Ticks>(std::clamp(full_at, -most, most)) * scale_;
  }

 private:
  static constexpr bool narrow = std::is_same_v<Ticks, std::int64_t>;
  // No state or sum below is larger [ticks]. Narrow: below 2^63, with room for a sum. Wide: a state
  // leaves 8 of its 128 bits to a store (store/cell.h).
  static constexpr Nanos time_max = narrow ? Nanos{7} << 60 : Nanos{1} << 119;

  enum class Denial { no, yes, never };

  // A tat that is later than the largest debt allows (a denial can cost one quota more) means that
  // the clock went back.
  [[nodiscard]] constexpr Ticks latest_debt(Ticks at) const noexcept {
    return at + window_ + debt_ + (denied_ == Denied::free ? 0 : window_);
  }

  // The tat, not before `at` (a full quota) and not after the largest possible debt.
  [[nodiscard]] constexpr Ticks clamped(const std::optional<State>& tat, Ticks at) const noexcept {
    if (!tat || *tat <= at) return at;
    const Ticks most = at + window_ + debt_;
    return *tat > most ? most : *tat;
  }

  // A decision that takes nothing. If denials are free, a tat that is later than the largest debt
  // allows means that the clock went back: it is corrected, and the correction is to be stored.
  [[nodiscard, gnu::always_inline]] constexpr Step<State> unchanged(
      const std::optional<State>& tat, Ticks at, Denial denied,
      std::uint64_t cost = 0) const noexcept {
    Step<State> step;
    Ticks seen = tat && *tat > at ? *tat : at;
    if (denied_ == Denied::free && seen > at + window_ + debt_) {
      seen = at + window_ + debt_;
      step = {seen, true, {}};
    }
    switch (denied) {
      case Denial::no:
        step.decision = admission(seen, at);
        break;
      case Denial::yes:
        step.decision = denial(seen, at, cost);
        break;
      case Denial::never:
        step.decision = {.remaining = available(seen, at), .wait = Decision::never};
    }
    return step;
  }

  [[nodiscard]] constexpr std::uint64_t available(Ticks tat, Ticks at) const noexcept {
    if (tat >= at + window_) return 0;
    const Ticks credit = at + window_ - tat;
    if constexpr (narrow) {
      return static_cast<std::uint64_t>(credit) / static_cast<std::uint64_t>(interval_);
    }
    return static_cast<std::uint64_t>(credit / interval_);
  }

  // The least t [s] for which r/t is at most q/w as clients are shown them.
  [[nodiscard]] constexpr std::uint64_t shown_pace(std::uint64_t remaining) const noexcept {
    const u128 share = u128{remaining} * shown_window_;
    return static_cast<std::uint64_t>((share + quota_ - 1) / quota_);
  }

  // Wait until `units` can be spent [ticks]; may be <= 0.
  [[nodiscard]] constexpr Ticks until(std::uint64_t units, Ticks tat, Ticks at) const noexcept {
    return tat + static_cast<Ticks>(units) * interval_ - at - window_;
  }

  // `span` in seconds, rounded up. The narrow form does not need the sign of a remainder, which
  // saves a comparison (`build/release/bin/steps_bench`).
  [[nodiscard]] constexpr std::uint64_t seconds(Ticks span) const noexcept {
    if constexpr (narrow) {
      constexpr auto second = static_cast<std::uint64_t>(nanos_per_second);
      return span <= 0 ? 0 : (static_cast<std::uint64_t>(span) + second - 1) / second;
    } else {
      return ceil_seconds(nanos(span));
    }
  }

  // `span` in nanoseconds, rounded up; 0 if it is negative.
  [[nodiscard]] constexpr Nanos nanos(Ticks span) const noexcept {
    if (span <= 0) return 0;
    return ceil_div(static_cast<Nanos>(span), static_cast<Nanos>(scale_));
  }

  [[nodiscard]] constexpr Decision admission(Ticks tat, Ticks at) const noexcept {
    Decision decision;
    admit(tat, at, decision);
    return decision;
  }

  [[nodiscard, gnu::always_inline]] constexpr Decision denial(Ticks tat, Ticks at,
                                                              std::uint64_t cost) const noexcept {
    const Nanos wait = nanos(until(cost, tat, at));
    return {.remaining = available(tat, at), .reset = ceil_seconds(wait), .wait = wait};
  }

  Ticks scale_ = 1;     // ticks per nanosecond
  Ticks interval_ = 0;  // w/q [ticks], exact
  Ticks window_ = 0;    // w [ticks]
  Ticks debt_ = 0;    // how far beyond the window a key may owe: penalty, late costs, delay [ticks]
  Ticks ahead_ = 0;   // how far beyond the window a spend may go that then waits [ticks]
  Ticks latest_ = 0;  // instants are clamped to -latest_..latest_ [ns]
  std::uint64_t quota_ = 0;
  std::uint64_t at_once_ = 0;       // the largest cost that spends() decides: the quota, or 0
  std::uint64_t shown_window_ = 0;  // w [s] of a quota with a rate of its own; 0: of no such quota
  Denied denied_ = Denied::free;
  Reset reset_ = Reset::pace;
  SpanClass window_class_ = 0;
};

using LinearWhole = Linear<std::int64_t>;
using LinearExact = Linear<i128>;

}  // namespace headgate::limit
