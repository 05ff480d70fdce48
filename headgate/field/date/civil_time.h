// Dates and times of day in UTC (proleptic Gregorian calendar), and seconds since 1970.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/int128.h"

namespace headgate::field {

struct CivilTime {
  std::int64_t year = 0;
  int month = 0;  // 1..12
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;  // 60 in a leap second
};

inline constexpr std::int64_t seconds_per_day = 86400;

[[nodiscard]] int days_in(std::int64_t year, int month) noexcept;

// Days from 1970-01-01 to the first of a year.
[[nodiscard]] constexpr std::int64_t days_before(std::int64_t year) noexcept {
  const std::int64_t y = year - 1;
  return 365 * (year - 1970) + (floor_div<std::int64_t>(y, 4) - 1969 / 4) -
         (floor_div<std::int64_t>(y, 100) - 1969 / 100) +
         (floor_div<std::int64_t>(y, 400) - 1969 / 400);
}

// The first and the last second of the years 0000 to 9999.
inline constexpr std::int64_t first_second = days_before(0) * seconds_per_day;
inline constexpr std::int64_t last_second = days_before(10000) * seconds_per_day - 1;

// The year that contains `seconds` (Unix time).
[[nodiscard]] std::int64_t year_of(std::int64_t seconds) noexcept;

// Unix seconds, or std::nullopt if the day or time does not exist. A leap second is converted as
// the second after it.
[[nodiscard]] std::optional<std::int64_t> seconds_of(const CivilTime& time) noexcept;

}  // namespace headgate::field
