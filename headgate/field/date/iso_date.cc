#include "headgate/field/date/iso_date.h"

#include "headgate/field/date/civil_time.h"
#include "headgate/field/date/date_scanner.h"

namespace headgate::field {
namespace {

// Reads the offset: how far local time is ahead of UTC [s].
std::optional<std::int64_t> offset(DateScanner& s) noexcept {
  if (s.take('Z') || s.take('z')) return 0;
  const bool behind = s.take('-');
  if (!behind) s.expect("+");
  const int hours = s.digits(2);
  s.take(':');
  const int minutes = s.digits(2);
  if (hours > 23 || minutes > 59) return {};
  const std::int64_t ahead = hours * 3600 + minutes * 60;
  return behind ? -ahead : ahead;
}

}  // namespace

std::optional<std::int64_t> parse_iso_date(std::string_view text) noexcept {
  DateScanner s(text);
  CivilTime c;
  c.year = s.digits(4);
  s.expect("-");
  c.month = s.digits(2);
  s.expect("-");
  c.day = s.digits(2);
  if (!s.take('T') && !s.take('t')) s.expect(" ");
  s.time(c);
  std::int64_t round_up = 0;
  if (s.take('.')) {
    do {
      if (s.digits(1) > 0) round_up = 1;
    } while (s.at_digit());
  }
  const auto ahead = offset(s);
  const auto local = seconds_of(c);
  if (!s.done() || !ahead || !local) return {};
  return *local - *ahead + round_up;
}

}  // namespace headgate::field
