// Reading X-RateLimit-Reset, the end of a window. No standard defines its form, so the value
// decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate::field {

enum class ResetForm : std::uint8_t {
  unknown,
  seconds,            // 47, 64.57: seconds from now, below 10^9
  unix_seconds,       // 1700000900: a date, from 10^9 (2001) on
  unix_milliseconds,  // 1700000900123: a date, from 10^12 (2001) on
  duration,           // 6m0s, 12ms, 1h30m: Go's durations
  http_date,          // Tue, 14 Nov 2023 22:14:00 GMT
  iso_date,           // 2023-11-14T22:14:20Z
};

struct Reset {
  ResetForm form = ResetForm::unknown;
  // Seconds from `base` to the reset, rounded up; 0 if the reset has passed; at most
  // 999,999,999,999,999. Absent if the form is unknown, or if it is a date and `base` is missing.
  std::optional<std::uint64_t> seconds;
};

// `base`: when the response was made [Unix seconds]. No allocation; linear time.
[[nodiscard]] Reset parse_reset(std::string_view value, std::optional<std::int64_t> base) noexcept;

// What was expected, for a reset without seconds.
[[nodiscard]] constexpr const char* expected_of(const Reset& reset) noexcept {
  return reset.form == ResetForm::unknown
             ? "expected seconds, a Unix time, a duration or a date"
             : "expected a Date field, or a clock, to tell how far off this moment is";
}

}  // namespace headgate::field
