// The times of access logs: nanoseconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate::sim {

// Dates outside 1970 to 2262 are not read: 64 bits of nanoseconds end in 2262, and there are no
// older logs.
inline constexpr std::int64_t log_seconds_max = 9'223'372'036;

// "17/May/2015:10:05:03 +0000", as Apache and nginx write it between brackets. Not thread-safe:
// remembers the last day that it read, because most lines have the same day as the one before.
class ClfTime {
 public:
  static constexpr std::size_t length = 26;

  [[nodiscard]] std::optional<std::int64_t> read(std::string_view text) noexcept;

 private:
  char date_[11] = {};
  std::int64_t day_ = 0;  // seconds from 1970 to its midnight, local time
};

// "2015-05-17T10:05:03.250+02:00", also with a space for the T, "Z", or an offset without colon.
[[nodiscard]] std::optional<std::int64_t> read_iso_time(std::string_view text) noexcept;

// "1431857103.250", nginx's $msec: seconds since 1970; and the same as milli-, micro- or
// nanoseconds, which have 13, 16 or 19 digits before the point in our time.
[[nodiscard]] std::optional<std::int64_t> read_unix_time(std::string_view text) noexcept;

}  // namespace headgate::sim
