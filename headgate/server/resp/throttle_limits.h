// The limits that clients name in every CL.THROTTLE and THROTTLE: kept, since making one costs more
// than a decision.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/law.h"

namespace headgate::server {

// `count` units come back in `period` seconds, and at most `capacity` are there at once.
struct ThrottleRate {
  std::int64_t capacity = 0;
  std::int64_t count = 0;
  std::int64_t period = 0;

  friend constexpr bool operator==(const ThrottleRate&, const ThrottleRate&) = default;
};

// A rate as a law: one unit each `interval`, which is period/count rounded down to a nanosecond,
// as in redis-cell; the window is as long as the whole capacity takes.
struct ThrottleLimit {
  ThrottleRate rate;
  Nanos interval = 0;
  limit::Law law;

  // Least time until the whole capacity is there, after this denial of `cost` units.
  [[nodiscard]] Nanos full_in(const limit::Decision& denial, std::uint64_t cost) const noexcept {
    return denial.wait + (rate.capacity - static_cast<Nanos>(cost)) * interval;
  }
};

// Not thread-safe. Never allocates.
class ThrottleLimits {
 public:
  // The limit of this rate, if it is kept.
  [[nodiscard]] const ThrottleLimit* find(const ThrottleRate& rate) const noexcept;

  // Makes it, perhaps in the place of another one: pointers to limits mean nothing from then on.
  // Errors: what of the rate is out of range, as in "max_burst ...".
  [[nodiscard]] Result<const ThrottleLimit*, std::string_view> make(
      const ThrottleRate& rate) noexcept;

 private:
  static constexpr std::size_t kept_max = 64;

  [[nodiscard]] static std::size_t home(const ThrottleRate& rate) noexcept;

  std::array<ThrottleLimit, kept_max> limits_;
};

}  // namespace headgate::server
