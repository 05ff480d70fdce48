#include "headgate/limit/calendar.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace headgate::limit {
namespace {

constexpr std::int64_t seconds_per_day = 86'400;

// Days and months are counted from 0000-03-01, so that the day that leap years add is the last of a
// year, and from 1970-01-01. The Gregorian calendar repeats every 400 years.
constexpr std::int64_t days_per_era = 146'097;
constexpr std::int64_t days_before_1970 = 719'468;
constexpr std::int64_t months_per_era = 400 * 12;

// The first day of a month, of which March of the year 0 is number 0 [days since 1970].
constexpr std::int64_t first_day(std::int64_t month) noexcept {
  const std::int64_t era = floor_div(month, months_per_era);
  const std::int64_t years = (month - era * months_per_era) / 12;
  const std::int64_t months = month - era * months_per_era - 12 * years;
  return era * days_per_era - days_before_1970 + 365 * years + years / 4 - years / 100 +
         (153 * months + 2) / 5;
}
static_assert(first_day(12 * 1970 - 2) == 0);
static_assert(first_day(12 * 2000) - first_day(12 * 2000 - 1) == 29);
static_assert(first_day(12 * 1900) - first_day(12 * 1900 - 1) == 28);

// The month that contains a day [days since 1970].
constexpr std::int64_t month_of(std::int64_t day) noexcept {
  // The first estimate takes all months to be of the same length.
  const std::int64_t since = day + days_before_1970;
  std::int64_t month = floor_div(since * months_per_era, days_per_era);
  while (first_day(month) > day) --month;
  while (first_day(month + 1) <= day) ++month;
  return month;
}

// 1970-01-01 was a Thursday.
constexpr std::int64_t days_before_monday = 3;

// The number of the window that contains a day.
constexpr std::int64_t number_of(CalendarUnit unit, std::int64_t day) noexcept {
  switch (unit) {
    case CalendarUnit::day:
      break;
    case CalendarUnit::week:
      return floor_div<std::int64_t>(day + days_before_monday, 7);
    case CalendarUnit::month:
      return month_of(day);
  }
  return day;
}

constexpr std::int64_t day_of(CalendarUnit unit, std::int64_t number) noexcept {
  switch (unit) {
    case CalendarUnit::day:
      break;
    case CalendarUnit::week:
      return 7 * number - days_before_monday;
    case CalendarUnit::month:
      return first_day(number);
  }
  return number;
}

// In 64 bits if they are enough, because 128-bit divisions are slow.
std::int64_t whole_seconds(Nanos at) noexcept {
  const auto narrow = static_cast<std::int64_t>(at);
  if (narrow == at) {
    return floor_div(narrow, static_cast<std::int64_t>(nanos_per_second));
  }
  return static_cast<std::int64_t>(floor_div(at, nanos_per_second));
}

// A window as one word: 42 bits for its begin, which are enough for 69,000 years, and 22 for its
// length of up to 48 days.
constexpr unsigned length_bits = 22;
constexpr std::int64_t begin_max = std::int64_t{1} << 41;

}  // namespace

Calendar::Calendar(CalendarUnit unit, std::string place, std::vector<Change> changes)
    : unit_(unit), place_(std::move(place)), changes_(std::move(changes)) {}

Calendar::Window Calendar::window_at(Nanos at) const noexcept {
  const std::int64_t second = whole_seconds(at);
  const std::uint64_t packed = latest_.load(std::memory_order_relaxed);
  const std::int64_t begin = static_cast<std::int64_t>(packed) >> length_bits;
  const auto length = static_cast<std::int64_t>(packed & ((std::uint64_t{1} << length_bits) - 1));
  Seconds found{begin, begin + length};
  if (second < found.begin || second >= found.end) {
    found = find(second);
    if (found.begin > -begin_max && found.begin < begin_max) {
      latest_.store(static_cast<std::uint64_t>(found.begin) << length_bits |
                        static_cast<std::uint64_t>(found.end - found.begin),
                    std::memory_order_relaxed);
    }
  }
  return {found.begin * nanos_per_second, found.end * nanos_per_second};
}

Calendar::Seconds Calendar::find(std::int64_t at) const noexcept {
  const std::int64_t shown = at + in_force(at)->ahead;
  std::int64_t number = number_of(unit_, floor_div(shown, seconds_per_day));
  std::int64_t end = begin_of(number + 1);
  // The clocks were put back to a day that had ended.
  while (end <= at) end = begin_of(++number + 1);
  return {begin_of(number), end};
}

std::int64_t Calendar::begin_of(std::int64_t number) const noexcept {
  const std::int64_t shown = day_of(unit_, number) * seconds_per_day;
  // No clock is a day ahead.
  auto change = in_force(shown - seconds_per_day);
  for (; std::next(change) != changes_.end(); ++change) {
    if (shown - change->ahead < std::next(change)->at) break;
  }
  const std::int64_t first =
      change == changes_.begin() ? std::numeric_limits<std::int64_t>::min() : change->at;
  return std::max(first, shown - change->ahead);
}

std::vector<Calendar::Change>::const_iterator Calendar::in_force(std::int64_t at) const noexcept {
  const auto next = std::upper_bound(
      changes_.begin(), changes_.end(), at,
      [](std::int64_t moment, const Change& change) { return moment < change.at; });
  return next == changes_.begin() ? next : std::prev(next);
}

}  // namespace headgate::limit
