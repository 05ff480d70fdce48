#include "headgate/field/date/civil_time.h"

#include <array>
#include <cstddef>

namespace headgate::field {
namespace {

bool is_leap(std::int64_t year) noexcept {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

}  // namespace

int days_in(std::int64_t year, int month) noexcept {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : days[static_cast<std::size_t>(month - 1)];
}

std::int64_t year_of(std::int64_t seconds) noexcept {
  const std::int64_t days = floor_div(seconds, seconds_per_day);
  std::int64_t year = 1970 + floor_div<std::int64_t>(days * 400, 146097);
  while (days_before(year) > days) --year;
  while (days_before(year + 1) <= days) ++year;
  return year;
}

std::optional<std::int64_t> seconds_of(const CivilTime& c) noexcept {
  if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > days_in(c.year, c.month)) return {};
  if (c.hour > 23 || c.minute > 59 || c.second > 60) return {};
  std::int64_t days = days_before(c.year) + c.day - 1;
  for (int month = 1; month < c.month; ++month) days += days_in(c.year, month);
  return days * seconds_per_day + c.hour * 3600 + c.minute * 60 + c.second;
}

}  // namespace headgate::field
