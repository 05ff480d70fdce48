#include "headgate/limit/exponential.h"

#include <algorithm>
#include <cmath>

namespace headgate::limit {
namespace {

// No rate is larger, so that sums stay finite (doubles end at 1.8e308).
constexpr double rate_max = 1e300;

// The least whole number of seconds for which `enough(seconds)` is true, at most about
// field_integer_max. `enough` must be monotone. The search starts at `guess`.
template <class Enough>
Nanos least_seconds(Nanos guess, Enough enough) noexcept {
  Nanos low = -1;  // not enough
  Nanos high = guess;
  Nanos stride = 1;
  if (enough(guess)) {
    while (high > 0 && low < 0) {
      const Nanos lower = std::max<Nanos>(high - stride, 0);
      if (enough(lower)) {
        high = lower;
      } else {
        low = lower;
      }
      stride *= 2;
    }
  } else {
    do {
      low = high;
      high += stride;
      stride *= 2;
    } while (high < static_cast<Nanos>(field_integer_max) && !enough(high));
  }
  while (high - low > 1) {
    const Nanos middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

// Converts by way of 64 bits if they are enough, because a conversion to 128 bits is a function
// call
// (`./dev bench --laws` measures the law).
Nanos nanos(double whole) noexcept {
  return whole < 0x1p62 ? static_cast<std::int64_t>(whole) : static_cast<Nanos>(whole);
}

}  // namespace

std::optional<Exponential> Exponential::make(const Quota& quota, const Terms& terms) noexcept {
  if (!Answer::servable(quota)) return std::nullopt;
  if (terms.denied == Denied::penalty || terms.penalty != 0) return std::nullopt;
  Exponential law;
  law.answer_ = Answer(quota, terms);
  law.quota_ = static_cast<double>(quota.units);
  law.most_ = terms.late ? 2 * law.quota_ : law.quota_;
  law.window_ = static_cast<double>(quota.window);
  law.rounding_ = law.quota_ * 0x1p-51;
  law.reset_ = terms.reset;
  law.denied_ = terms.denied;
  return law;
}

Step<Exponential::State> Exponential::spend(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
  const Nanos at = Answer::clamped(now);
  Seen seen = state_at(state, at);
  Decay past = decay(seen, at);
  if (cost > quota()) return {seen.state(), seen.moved, denial(seen, at, past, cost)};
  const double rate = rate_with(seen, static_cast<double>(cost), past);
  const bool admitted = rate <= quota_ || (cost == 0 && !denial_costs());
  if (cost > 0 && (admitted || denial_costs())) {
    seen = {at, std::min(rate, rate_max), true, true};
    past = {};
  }
  return {seen.state(), seen.moved,
          admitted ? admission(seen, at, past) : denial(seen, at, past, cost)};
}

bool Exponential::admits(const std::optional<State>& state, std::uint64_t cost,
                         Instant now) const noexcept {
  if (cost == 0 && !denial_costs()) return true;
  if (cost > quota()) return false;
  const Nanos at = Answer::clamped(now);
  const Seen seen = state_at(state, at);
  return rate_with(seen, static_cast<double>(cost), decay(seen, at)) <= quota_;
}

Step<Exponential::State> Exponential::peek(const std::optional<State>& state, std::uint64_t cost,
                                           Instant now) const noexcept {
  const Nanos at = Answer::clamped(now);
  const Seen seen = state_at(state, at);
  return {seen.state(), seen.moved,
          cost == 0 ? admission(seen, at, decay(seen, at)) : spend(state, cost, now).decision};
}

Step<Exponential::State> Exponential::refund(const std::optional<State>& state, std::uint64_t cost,
                                             Instant now) const noexcept {
  const Nanos at = Answer::clamped(now);
  Seen seen = state_at(state, at);
  if (seen.known && cost > 0) {
    const bool all = cost >= Quota::cost_max;
    seen.rate = all ? 0 : std::max(0.0, seen.rate - static_cast<double>(cost));
    seen.moved = true;
  }
  return {seen.state(), seen.moved, admission(seen, at, decay(seen, at))};
}

Step<Exponential::State> Exponential::debit(const std::optional<State>& state, std::uint64_t cost,
                                            Instant now) const noexcept {
  const Nanos at = Answer::clamped(now);
  Seen seen = state_at(state, at);
  Decay past = decay(seen, at);
  if (cost > 0) {
    const double taken = std::min(static_cast<double>(cost), most_);
    const double owed = rate_with(seen, 0, past);
    seen = {at, std::max(owed, std::min(rate_with(seen, taken, past), most_)), true, true};
    past = {};
  }
  return {seen.state(), seen.moved, admission(seen, at, past)};
}

Nanos Exponential::full_at(const State& state) const noexcept {
  // From x = 1 + ln(rate) windows on, the rate after a request of one unit is that unit's own rate:
  // what is left of the old rate, e^-x * rate, is at most 1 - (1 - e^-x) / x. The exponent of the
  // double is an upper bound of the logarithm and is faster to get (`./dev bench --laws`).
  constexpr double ln_2 = 0.6931471805599454;  // rounded up
  const double rate = std::clamp(state.rate, 1.0, rate_max);
  const double windows = 1 + ln_2 * (rate > 1 ? std::ilogb(rate) + 1 : 0);
  const Nanos time = Answer::clamped({state.time()});  // the memory may be damaged
  return time + nanos(std::ceil(windows * window_));
}

// The steps of a decision are inlined: to pass their doubles through memory takes longer than the
// steps themselves (`./dev bench --laws`).

[[gnu::always_inline]] inline Exponential::Seen Exponential::state_at(
    const std::optional<State>& state, Nanos at) const noexcept {
  if (!state) return {at, 0, false, false};
  Seen seen{state->time(), state->rate, true, false};
  if (!(seen.rate >= 0 && seen.rate <= rate_max)) seen.rate = quota_;  // damaged memory
  if (seen.time > at) {
    seen.time = at;
    seen.moved = true;
  }
  return seen;
}

[[gnu::always_inline]] inline Exponential::Decay Exponential::decay_over(double windows) noexcept {
  constexpr double few = 0x1p-6;
  if (windows < few) {
    // Most requests. For x < 2^-6 the next term of the series is smaller than a double's last bit.
    // Multiplies by constants, because one division takes as long as all the rest (`./dev bench
    // --laws`).
    const double x = windows;
    double mean = 1;
    for (const double part : {1 / 7.0, 1 / 6.0, 1 / 5.0, 1 / 4.0, 1 / 3.0, 1 / 2.0}) {
      mean = 1 - x * part * mean;
    }
    return {x, mean, 1 - x * mean};
  }
  const double gone = -std::expm1(-windows);
  // At most 1, so that a rate never grows by waiting: r depends on that.
  return {windows, std::min(gone / windows, 1.0), 1 - gone};
}

[[gnu::always_inline]] inline Exponential::Decay Exponential::decay(const Seen& seen,
                                                                    Nanos at) const noexcept {
  const Nanos span = at - seen.time;
  if (span == 0) return {};
  const bool narrow = span >> 63 == 0;
  return decay_over(
      (narrow ? static_cast<double>(static_cast<std::int64_t>(span)) : static_cast<double>(span)) /
      window_);
}

[[gnu::always_inline]] inline double Exponential::rate_with(const Seen& seen, double cost,
                                                            const Decay& past) noexcept {
  if (!seen.known) return cost;
  return std::max(cost * past.mean + past.left * seen.rate, cost);
}

[[gnu::always_inline]] inline std::uint64_t Exponential::available(
    const Seen& seen, const Decay& past) const noexcept {
  const double one = rate_with(seen, 1, past);
  if (one > quota_) return 0;
  // Rounding to a double keeps the order, and the quota is a double: a sum of at most the quota is
  // never computed as more. Only a decay that is computed again at a later time can be a little
  // greater than this one; rounding_ is more than that. If the rate is a unit's own, or no time has
  // passed, there is no such error.
  const double room = quota_ - one - (past.windows == 0 || one == 1 ? 0 : rounding_);
  return std::min(quota(), 1 + (room > 0 ? static_cast<std::uint64_t>(room) : 0));
}

// An estimate of the seconds until a request of `cost` leads to a rate of `most` >= cost. Newton's
// method on a convex, falling function, from the left; the error after a step of x windows is at
// most x * x. Six steps, because the error is squared by each; least_seconds() corrects what is
// left.
Nanos Exponential::estimate(const Seen& seen, const Decay& now, double cost,
                            double most) const noexcept {
  constexpr double good_enough = 1e8;  // [ns], a tenth of the second to which the result is rounded
  Decay past = now;
  double windows = now.windows;
  for (int i = 0; i < 6; ++i) {
    const double above = cost * past.mean + past.left * seen.rate - most;
    if (above <= 0) break;
    const double slope =
        cost * (windows > 1e-6 ? (past.mean - past.left) / windows : 0.5) + past.left * seen.rate;
    const double further = above / slope;
    windows += further;
    if (further * further * window_ < good_enough) break;
    past = decay_over(windows);
  }
  const double seconds = std::ceil((windows - now.windows) * window_ / 1e9);
  return static_cast<Nanos>(std::clamp(seconds, 0.0, static_cast<double>(field_integer_max)));
}

Decision Exponential::admission(const Seen& seen, Nanos at, const Decay& now) const noexcept {
  const std::uint64_t left = available(seen, now);
  const auto available_after = [&](Nanos seconds) {
    return available(seen, decay(seen, at + seconds * nanos_per_second));
  };
  if (reset_ == Reset::pace && left > 0 && left < quota()) {
    const std::uint64_t pace = answer_.pace(left);
    // The pace is nearly always longer than the time to the next unit; then no search is needed.
    // Over x windows the rate loses x times as much as a unit adds, (1 - e^-x) / x >= 1 / (1 + x).
    // So r has grown as soon as rate * x is 1, plus a little for rounding. Written as spans,
    // because a division takes as long as all the rest (`./dev bench --laws`).
    const double span = static_cast<double>(pace) * 1e9;
    if (now.windows == 0 && seen.rate * span > window_ + 4 * rounding_ * (window_ + span)) {
      return {.admitted = true, .remaining = left, .reset = pace};
    }
    if (available_after(static_cast<Nanos>(pace)) > left)
      return {.admitted = true, .remaining = left, .reset = pace};
  }
  return answer_.admission(left, [&](std::uint64_t units) {
    const Nanos guess = estimate(seen, now, 1, quota_ - static_cast<double>(units - 1));
    const auto enough = [&](Nanos seconds) { return available_after(seconds) >= units; };
    return least_seconds(guess, enough) * nanos_per_second;
  });
}

Decision Exponential::denial(const Seen& seen, Nanos at, const Decay& now,
                             std::uint64_t cost) const noexcept {
  return answer_.denial(available(seen, now), cost, [&](std::uint64_t requested) {
    const auto units = static_cast<double>(requested);
    const auto enough = [&](Nanos seconds) {
      return rate_with(seen, units, decay(seen, at + seconds * nanos_per_second)) <= quota_;
    };
    return least_seconds(estimate(seen, now, units, quota_), enough) * nanos_per_second;
  });
}

}  // namespace headgate::limit
