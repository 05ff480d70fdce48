// The end of a window as X-RateLimit-Reset tells it: nobody wrote down how, so the value decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate::field {

enum class ResetForm : std::uint8_t {
  unknown,
  seconds,            // 47, 64.57: seconds from now, below 10^9
  unix_seconds,       // 1700000900: a moment, from 10^9 on
  unix_milliseconds,  // 1700000900123: a moment, from 10^12 on
  duration,           // 6m0s, 12ms, 1h30m: Go's durations
  http_date,          // Tue, 14 Nov 2023 22:14:00 GMT
  iso_date,           // 2023-11-14T22:14:20Z
};

struct Reset {
  ResetForm form = ResetForm::unknown;
  // From the base, rounded up; 0 if the moment has passed; at most 999,999,999,999,999. Absent for
  // an unknown form, and for a moment without a base.
  std::optional<std::uint64_t> seconds;
};

// `base`: the moment the response was made [Unix seconds]. No allocation; linear.
[[nodiscard]] Reset parse_reset(std::string_view value, std::optional<std::int64_t> base) noexcept;

// What was missing where there are no seconds.
[[nodiscard]] constexpr const char* expected_of(const Reset& reset) noexcept {
  return reset.form == ResetForm::unknown
             ? "expected seconds, a Unix time, a duration or a date"
             : "expected a Date field, or a clock, to tell how far off this moment is";
}

}  // namespace headgate::field
