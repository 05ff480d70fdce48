// Time as the laws count it: nanoseconds since an origin that the store chooses.
#pragma once

#include <compare>
#include <cstdint>

#include "headgate/base/int128.h"

namespace headgate {

// A span of time [ns]. 128 bits, because the longest window that a field can contain,
// 999,999,999,999,999 seconds, needs 80.
using Nanos = i128;

inline constexpr Nanos nanos_per_second = 1'000'000'000;

// A moment [ns since the store's origin]. Instants of different stores cannot be compared.
struct Instant {
  Nanos ns = 0;
  friend constexpr auto operator<=>(const Instant&, const Instant&) = default;
};

// The largest Integer of RFC 9651, section 3.3.1. No number in a field is larger.
inline constexpr std::uint64_t field_integer_max = 999'999'999'999'999;

// Whole seconds, rounded up (rounding down would send a client back too early), saturated at
// field_integer_max.
[[nodiscard]] constexpr std::uint64_t ceil_seconds(Nanos span) noexcept {
  if (span <= 0) return 0;
  const Nanos seconds = ceil_div(span, nanos_per_second);
  return seconds > static_cast<Nanos>(field_integer_max) ? field_integer_max
                                                         : static_cast<std::uint64_t>(seconds);
}

// Whole milliseconds, rounded up, saturated at field_integer_max seconds.
[[nodiscard]] constexpr std::int64_t ceil_milliseconds(Nanos span) noexcept {
  constexpr Nanos most = static_cast<Nanos>(field_integer_max) * nanos_per_second;
  if (span <= 0) return 0;
  return static_cast<std::int64_t>(ceil_div(span < most ? span : most, Nanos{1'000'000}));
}

}  // namespace headgate
