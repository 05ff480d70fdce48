#include "headgate/field/http_date.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "headgate/base/int128.h"
#include "headgate/field/whitespace.h"

namespace headgate::field {
namespace {

constexpr std::array<std::string_view, 7> weekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                      "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::int64_t seconds_per_day = 86400;

struct Civil {
  std::int64_t year = 0;
  int month = 0;  // 1..12
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

constexpr bool is_leap(std::int64_t year) noexcept {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr int days_in(std::int64_t year, int month) noexcept {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : days[static_cast<std::size_t>(month - 1)];
}

// Days from 1970-01-01 to the first of a year.
constexpr std::int64_t days_before(std::int64_t year) noexcept {
  const std::int64_t y = year - 1;
  return 365 * (year - 1970) + (floor_div<std::int64_t>(y, 4) - 1969 / 4) -
         (floor_div<std::int64_t>(y, 100) - 1969 / 100) +
         (floor_div<std::int64_t>(y, 400) - 1969 / 400);
}

// What a four-digit year can name.
constexpr std::int64_t first_second = days_before(0) * seconds_per_day;
constexpr std::int64_t last_second = days_before(10000) * seconds_per_day - 1;

std::optional<std::int64_t> seconds_of(const Civil& c) noexcept {
  if (c.month < 1 || c.day < 1 || c.day > days_in(c.year, c.month)) return {};
  if (c.hour > 23 || c.minute > 59 || c.second > 60) return {};
  std::int64_t days = days_before(c.year) + c.day - 1;
  for (int month = 1; month < c.month; ++month) days += days_in(c.year, month);
  return days * seconds_per_day + c.hour * 3600 + c.minute * 60 + c.second;
}

std::int64_t year_of(std::int64_t seconds) noexcept {
  const std::int64_t days = floor_div(seconds, seconds_per_day);
  std::int64_t year = 1970 + floor_div<std::int64_t>(days * 400, 146097);
  while (days_before(year) > days) --year;
  while (days_before(year + 1) <= days) ++year;
  return year;
}

// Takes a date apart, left to right. Once something is missing, nothing else is found.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : left_(text) {}

  void expect(std::string_view text) noexcept {
    if (!left_.starts_with(text)) return fail();
    left_.remove_prefix(text.size());
  }

  int digits(std::size_t count) noexcept {
    if (left_.size() < count) return fail(), 0;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (left_[i] < '0' || left_[i] > '9') return fail(), 0;
      value = value * 10 + (left_[i] - '0');
    }
    left_.remove_prefix(count);
    return value;
  }

  // The index of the name that comes next; of a name's first `length` characters, if given.
  int one_of(std::span<const std::string_view> names,
             std::size_t length = std::string_view::npos) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names[i].substr(0, length);
      if (!left_.starts_with(name)) continue;
      left_.remove_prefix(name.size());
      return static_cast<int>(i);
    }
    return fail(), 0;
  }

  void time(Civil& c) noexcept {
    c.hour = digits(2);
    expect(":");
    c.minute = digits(2);
    expect(":");
    c.second = digits(2);
  }

  [[nodiscard]] bool starts_with(char c) const noexcept { return left_.starts_with(c); }
  [[nodiscard]] bool done() const noexcept { return ok_ && left_.empty(); }

 private:
  void fail() noexcept {
    ok_ = false;
    left_ = {};
  }

  std::string_view left_;
  bool ok_ = true;
};

std::optional<std::int64_t> imf_fixdate(std::string_view text) noexcept {
  Scanner s(text);
  Civil c;
  s.one_of(weekdays, 3);
  s.expect(", ");
  c.day = s.digits(2);
  s.expect(" ");
  c.month = s.one_of(months) + 1;
  s.expect(" ");
  c.year = s.digits(4);
  s.expect(" ");
  s.time(c);
  s.expect(" GMT");
  return s.done() ? seconds_of(c) : std::nullopt;
}

std::optional<std::int64_t> rfc_850(std::string_view text, std::int64_t near) noexcept {
  Scanner s(text);
  Civil c;
  s.one_of(weekdays);
  s.expect(", ");
  c.day = s.digits(2);
  s.expect("-");
  c.month = s.one_of(months) + 1;
  s.expect("-");
  const int two_digits = s.digits(2);
  s.expect(" ");
  s.time(c);
  s.expect(" GMT");
  if (!s.done()) return {};
  near = std::clamp(near, first_second, last_second);
  const std::int64_t year = year_of(near);
  const std::int64_t latest = year + 50;
  c.year = latest - (latest - two_digits + 100) % 100;
  const auto seconds = seconds_of(c);
  const std::int64_t fifty_years = (days_before(latest) - days_before(year)) * seconds_per_day;
  if (!seconds || *seconds <= near + fifty_years) return seconds;
  c.year -= 100;
  return seconds_of(c);
}

std::optional<std::int64_t> asctime(std::string_view text) noexcept {
  Scanner s(text);
  Civil c;
  s.one_of(weekdays, 3);
  s.expect(" ");
  c.month = s.one_of(months) + 1;
  s.expect(" ");
  if (s.starts_with(' ')) {
    s.expect(" ");
    c.day = s.digits(1);
  } else {
    c.day = s.digits(2);
  }
  s.expect(" ");
  s.time(c);
  s.expect(" ");
  c.year = s.digits(4);
  return s.done() ? seconds_of(c) : std::nullopt;
}

void put_padded(Writer& out, std::int64_t value, int digits) noexcept {
  std::int64_t unit = 1;
  for (int i = 1; i < digits; ++i) unit *= 10;
  for (; unit > 0; unit /= 10) out.put(static_cast<char>('0' + value / unit % 10));
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t near) noexcept {
  text = without_outer_whitespace(text);
  if (const auto seconds = imf_fixdate(text)) return seconds;
  if (const auto seconds = rfc_850(text, near)) return seconds;
  return asctime(text);
}

bool write_http_date(Writer& out, std::int64_t seconds) noexcept {
  if (seconds < first_second || seconds > last_second) return false;
  const std::int64_t days = floor_div(seconds, seconds_per_day);
  const std::int64_t time = seconds - days * seconds_per_day;
  const std::int64_t year = year_of(seconds);
  std::int64_t day = days - days_before(year);
  int month = 1;
  for (; day >= days_in(year, month); ++month) day -= days_in(year, month);
  const std::int64_t weekday = (days % 7 + 7 + 4) % 7;  // 1970-01-01 was a Thursday

  const Writer::Mark before = out.mark();
  out.put(weekdays[static_cast<std::size_t>(weekday)].substr(0, 3));
  out.put(", ");
  put_padded(out, day + 1, 2);
  out.put(' ');
  out.put(months[static_cast<std::size_t>(month - 1)]);
  out.put(' ');
  put_padded(out, year, 4);
  out.put(' ');
  put_padded(out, time / 3600, 2);
  out.put(':');
  put_padded(out, time / 60 % 60, 2);
  out.put(':');
  put_padded(out, time % 60, 2);
  out.put(" GMT");
  if (!out.overflow()) return true;
  out.rewind(before);
  return false;
}

}  // namespace headgate::field
