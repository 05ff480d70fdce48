// From what a law knows to what the fields say: the one derivation of r, t and the wait.
//
// A law knows two things: how many units can be spent now, and how long until more can. r is the
// first; t comes from the second and from the policy's ratio (docs/algorithms.md).
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

class Answer {
 public:
  // Instants further from the origin than this are held at it [ns]: sums with windows never
  // overflow. Ten billion years.
  static constexpr Nanos latest = Nanos{1} << 88;

  // Whether quota and window are in range, and their product within 128 bits with some to spare.
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

  // `wait(units)`: least time until so many, 1..quota, can be spent at once [ns].
  template <class Wait>
  [[nodiscard]] constexpr Decision admission(std::uint64_t available, Wait wait) const noexcept {
    if (quota_ == 0) return {.admitted = true};
    Decision d{true, available, 0, 0};
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
    if (cost > quota_) return {false, available, Decision::no_reset, Decision::never};
    const Nanos span = wait(cost);
    return {false, available, seconds(span), span};
  }

  // Least t [s] that keeps r/t within q/w.
  [[nodiscard]] constexpr std::uint64_t pace(std::uint64_t available) const noexcept {
    const u128 share = static_cast<u128>(available) * static_cast<u128>(window_);
    if (share >> 63 == 0) {
      return seconds(static_cast<Nanos>(
          ceil_div(static_cast<std::int64_t>(share), static_cast<std::int64_t>(quota_))));
    }
    return seconds(ceil_div(static_cast<Nanos>(share), static_cast<Nanos>(quota_)));
  }

  // ceil_seconds(), in 64 bits where they do.
  [[nodiscard]] static constexpr std::uint64_t seconds(Nanos span) noexcept {
    if (span <= 0) return 0;
    if (span >> 63 != 0) return ceil_seconds(span);
    return static_cast<std::uint64_t>(
        ceil_div(static_cast<std::int64_t>(span), static_cast<std::int64_t>(nanos_per_second)));
  }

  [[nodiscard]] static constexpr Nanos held(Instant now) noexcept {
    return std::clamp(now.ns, -latest, latest);
  }

 private:
  std::uint64_t quota_ = 0;
  Nanos window_ = 0;
  Reset reset_ = Reset::pace;
};

}  // namespace headgate::limit
