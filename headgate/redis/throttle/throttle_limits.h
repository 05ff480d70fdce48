// A cache of the limits that clients send with every CL.THROTTLE and THROTTLE, because making a
// limit costs more than a decision.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/law.h"

namespace headgate::redis {

// `count` units return per `period` seconds, up to `capacity` units.
struct ThrottleRate {
  std::int64_t capacity = 0;
  std::int64_t count = 0;
  std::int64_t period = 0;

  friend constexpr bool operator==(const ThrottleRate&, const ThrottleRate&) = default;
};

// A rate as a law: one unit per `interval`, which is period/count rounded down to a nanosecond, as
// in redis-cell; the window is capacity * interval.
struct ThrottleLimit {
  ThrottleRate rate;
  Nanos interval = 0;
  limit::Law law;

  // The least time until the whole capacity is available, after this denial of `cost` units.
  [[nodiscard]] Nanos full_in(const limit::Decision& denial, std::uint64_t cost) const noexcept {
    return denial.wait + (rate.capacity - static_cast<Nanos>(cost)) * interval;
  }
};

// Not thread-safe. Never allocates.
class ThrottleLimits {
 public:
  // Returns the limit of this rate, or nullptr if it is not in the cache.
  [[nodiscard]] const ThrottleLimit* find(const ThrottleRate& rate) const noexcept;

  // Makes the limit of this rate; it may replace another one, so all pointers to limits become
  // invalid. Errors: which part of the rate is out of range, as in "max_burst ...".
  [[nodiscard]] Result<const ThrottleLimit*, std::string_view> make(
      const ThrottleRate& rate) noexcept;

 private:
  // Clients send few different rates. A power of two, see home().
  static constexpr std::size_t kept_max = 64;

  [[nodiscard]] static std::size_t home(const ThrottleRate& rate) noexcept;

  std::array<ThrottleLimit, kept_max> limits_;
};

}  // namespace headgate::redis
