// Computes a decision's numbers (r, t and the wait) in the same way for all laws but the linear
// one.
//
// A law computes two things: how many units can be spent now, and how long it takes until more can.
// r is the first; t follows from the second and from the policy's ratio (docs/algorithms.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

class Answer {
 public:
  // Instants that are further from the origin are replaced by this one [ns], ten billion years, so
  // that sums with windows (80 bits) never overflow.
  static constexpr Nanos latest = Nanos{1} << 88;

  // Whether quota and window are in range, and their product is less than a quarter of 2^127: with
  // debts the laws compute up to twice the product.
  [[nodiscard]] static constexpr bool servable(const Quota& quota) noexcept {
    return quota.units >= 1 && quota.units <= Quota::units_max && quota.window >= 1 &&
           quota.window <= Quota::window_max &&
           static_cast<Nanos>(quota.units) <= i128_max / 4 / quota.window;
  }

  constexpr Answer() noexcept = default;
  constexpr Answer(const Quota& quota, const Terms& terms) noexcept
      : quota_(quota.units), window_(quota.window), reset_(terms.reset) {}

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return quota_; }
  [[nodiscard]] constexpr Nanos window() const noexcept { return window_; }
  [[nodiscard]] constexpr Reset reset() const noexcept { return reset_; }

  // The decision on an admitted request. `wait(units)` returns the least time until that many
  // units, 1..quota, can be spent at once [ns].
  template <class Wait>
  [[nodiscard]] constexpr Decision admission(std::uint64_t available, Wait wait) const noexcept {
    if (quota_ == 0) return {.admitted = true};
    Decision d{.admitted = true, .remaining = available, .reset = 0};
    if (reset_ == Reset::full) {
      d.reset = seconds(wait(quota_));
      return d;
    }
    if (available < quota_) d.reset = seconds(wait(available + 1));
    if (reset_ == Reset::pace) d.reset = std::max(d.reset, pace(available));
    return d;
  }

  template <class Wait>
  [[nodiscard]] constexpr Decision denial(std::uint64_t available, std::uint64_t cost,
                                          Wait wait) const noexcept {
    if (cost > quota_) return {.remaining = available, .wait = Decision::never};
    const Nanos span = wait(cost);
    return {.remaining = available, .reset = seconds(span), .wait = span};
  }

  // The least t [s] for which r/t is at most q/w.
  [[nodiscard]] constexpr std::uint64_t pace(std::uint64_t available) const noexcept {
    const u128 share = static_cast<u128>(available) * static_cast<u128>(window_);
    if (share >> 63 == 0) {
      return seconds(static_cast<Nanos>(
          ceil_div(static_cast<std::int64_t>(share), static_cast<std::int64_t>(quota_))));
    }
    return seconds(ceil_div(static_cast<Nanos>(share), static_cast<Nanos>(quota_)));
  }

  // ceil_seconds(), in 64 bits if they are enough: a 128-bit division is a function
  // call (`./dev bench --laws` measures each law).
  [[nodiscard]] static constexpr std::uint64_t seconds(Nanos span) noexcept {
    if (span <= 0) return 0;
    if (span >> 63 != 0) return ceil_seconds(span);
    return static_cast<std::uint64_t>(
        ceil_div(static_cast<std::int64_t>(span), static_cast<std::int64_t>(nanos_per_second)));
  }

  // The latest moment up to `at` that is a whole number of windows after `offset` [ns]: where an
  // aligned window begins.
  [[nodiscard]] constexpr Nanos aligned(Nanos at, Nanos offset) const noexcept {
    const Nanos since = at - offset;
    if (since >> 63 == 0 && window_ >> 63 == 0) {
      return at - static_cast<std::int64_t>(since) % static_cast<std::int64_t>(window_);
    }
    return offset + floor_div(since, window_) * window_;
  }

  // The same decision, if the key has its whole quota in `span` [ns], sooner than the law expects.
  [[nodiscard]] constexpr Decision full_within(Decision d, Nanos span) const noexcept {
    if (d.wait != Decision::never) d.wait = std::min(d.wait, span);
    if (d.reset != Decision::no_reset) {
      const bool paced = d.admitted && reset_ == Reset::pace;
      d.reset = std::min(d.reset, std::max(seconds(span), paced ? pace(d.remaining) : 0));
    }
    return d;
  }

  // Whether a state that some law has written may have this time: even with a window of the
  // greatest length added, sums stay within 128 bits.
  [[nodiscard]] static constexpr bool is_sane(Nanos time) noexcept {
    return time >= -2 * latest && time <= 2 * latest;
  }

  // `now` within -latest..latest [ns].
  [[nodiscard]] static constexpr Nanos clamped(Instant now) noexcept {
    return std::clamp(now.ns, -latest, latest);
  }

 private:
  std::uint64_t quota_ = 0;
  Nanos window_ = 0;
  Reset reset_ = Reset::pace;
};

}  // namespace headgate::limit
