// Time as the law sees it: a count of nanoseconds, its origin chosen by the store.
#pragma once

#include <compare>
#include <cstdint>

#include "headgate/base/int128.h"

namespace headgate {

// A span of time [ns]. 128 bits: the longest window that the fields can name, 999,999,999,999,999
// seconds, has 80.
using Nanos = i128;

inline constexpr Nanos nanos_per_second = 1'000'000'000;

// A moment [ns since the store's origin]. Instants of different stores do not compare.
struct Instant {
  Nanos ns = 0;
  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;
};

// The largest Integer of RFC 9651, section 3.3.1: the ceiling of every number in a field.
inline constexpr std::uint64_t field_integer_max = 999'999'999'999'999;

// Whole seconds, rounded up (rounding down would send a client back too early), saturated at
// field_integer_max.
[[nodiscard]] constexpr std::uint64_t ceil_seconds(Nanos span) noexcept {
  if (span <= 0) return 0;
  const Nanos seconds = ceil_div(span, nanos_per_second);
  return seconds > static_cast<Nanos>(field_integer_max) ? field_integer_max
                                                         : static_cast<std::uint64_t>(seconds);
}

}  // namespace headgate
