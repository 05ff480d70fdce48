#include "headgate/field/date/http_date.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "headgate/base/ascii.h"
#include "headgate/base/int128.h"
#include "headgate/field/date/civil_time.h"
#include "headgate/field/date/date_scanner.h"

namespace headgate::field {
namespace {

constexpr std::array<std::string_view, 7> weekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                      "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
std::optional<std::int64_t> imf_fixdate(std::string_view text) noexcept {
  DateScanner s(text);
  CivilTime c;
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
  DateScanner s(text);
  CivilTime c;
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
  DateScanner s(text);
  CivilTime c;
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
  text = trimmed(text);
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
