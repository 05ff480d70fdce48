#include "headgate/sim/log/time.h"

#include <algorithm>
#include <cstring>

#include "headgate/field/date/civil_time.h"
#include "headgate/field/date/date_scanner.h"

namespace headgate::sim {
namespace {

constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::int64_t second_ns = 1'000'000'000;

std::optional<std::int64_t> nanoseconds(std::int64_t seconds, std::int64_t ns) noexcept {
  if (seconds < 0 || seconds >= log_seconds_max) return std::nullopt;
  return seconds * second_ns + ns;
}

// Reads digits that are behind whole seconds as nanoseconds; further digits are dropped. `unit`:
// what the first digit counts [ns]; afterwards what the next one would.
std::int64_t fraction(field::DateScanner& scan, std::int64_t& unit) noexcept {
  std::int64_t ns = 0;
  for (; scan.at_digit(); unit /= 10) ns += scan.digits(1) * unit;
  return ns;
}

std::int64_t fraction(field::DateScanner& scan) noexcept {
  std::int64_t unit = second_ns / 10;
  return fraction(scan, unit);
}

// Reads two digits; if they are not digits, returns a number above every limit.
int two(const char* at) noexcept {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : 1000; };
  return digit(at[0]) * 10 + digit(at[1]);
}

}  // namespace

std::optional<std::int64_t> ClfTime::read(std::string_view text) noexcept {
  if (text.size() != length) return std::nullopt;
  if (std::memcmp(text.data(), date_, sizeof date_) != 0) {
    field::DateScanner scan(text.substr(0, sizeof date_));
    field::CivilTime date;
    date.day = scan.digits(2);
    scan.expect("/");
    date.month = scan.one_of(months) + 1;
    scan.expect("/");
    date.year = scan.digits(4);
    const auto day = field::seconds_of(date);
    if (!scan.done() || !day) return std::nullopt;
    day_ = *day;
    std::memcpy(date_, text.data(), sizeof date_);
  }
  const char* const at = text.data();
  const int hour = two(at + 12);
  const int minute = two(at + 15);
  const int second = two(at + 18);
  const int zone_hours = two(at + 22);
  const int zone_minutes = two(at + 24);
  if (at[11] != ':' || at[14] != ':' || at[17] != ':' || at[20] != ' ' || hour > 23 ||
      minute > 59 || second > 60 || (at[21] != '+' && at[21] != '-') || zone_hours > 23 ||
      zone_minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t ahead = zone_hours * 3600 + zone_minutes * 60;
  return nanoseconds(day_ + hour * 3600 + minute * 60 + second + (at[21] == '+' ? -ahead : ahead),
                     0);
}

std::optional<std::int64_t> read_iso_time(std::string_view text) noexcept {
  field::DateScanner scan(text);
  field::CivilTime time;
  time.year = scan.digits(4);
  scan.expect("-");
  time.month = scan.digits(2);
  scan.expect("-");
  time.day = scan.digits(2);
  if (!scan.take('T') && !scan.take('t')) scan.expect(" ");
  scan.time(time);
  const std::int64_t ns = scan.take('.') || scan.take(',') ? fraction(scan) : 0;
  std::int64_t ahead = 0;
  if (!scan.take('Z') && !scan.take('z')) {
    const bool behind = scan.take('-');
    if (!behind) scan.expect("+");
    const int hours = scan.digits(2);
    scan.take(':');
    const int minutes = scan.digits(2);
    if (hours > 23 || minutes > 59) return std::nullopt;
    ahead = (behind ? -1 : 1) * (hours * 3600 + minutes * 60);
  }
  const auto local = field::seconds_of(time);
  if (!scan.done() || !local) return std::nullopt;
  return nanoseconds(*local - ahead, ns);
}

std::optional<std::int64_t> read_unix_time(std::string_view text) noexcept {
  // Seconds have ten digits until 2286.
  const std::size_t digits = std::min(text.find('.'), text.size());
  if (digits == 0 || digits > 19) return std::nullopt;
  const std::size_t finer = digits == 13 || digits == 16 || digits == 19 ? digits - 10 : 0;
  field::DateScanner whole(text.substr(0, digits - finer));
  std::int64_t seconds = 0;
  while (whole.at_digit()) {
    if (seconds > log_seconds_max) return std::nullopt;
    seconds = seconds * 10 + whole.digits(1);
  }
  field::DateScanner rest(text.substr(digits - finer));
  std::int64_t unit = second_ns / 10;
  std::int64_t ns = finer > 0 ? fraction(rest, unit) : 0;
  if (rest.take('.')) ns += fraction(rest, unit);
  if (!whole.done() || !rest.done()) return std::nullopt;
  return nanoseconds(seconds, ns);
}

}  // namespace headgate::sim
