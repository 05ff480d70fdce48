#include "headgate/policy/quantity.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headgate/base/ascii.h"
#include "headgate/base/duration.h"

namespace headgate::policy {
namespace {

// Months and years are as long as in python's limits; they have no symbol.
constexpr std::array<DurationUnit, 2> long_units{
    {{"", "month", 30 * 86'400 * nanos_per_second}, {"", "year", 360 * 86'400 * nanos_per_second}}};

// Whether `word` is this unit's symbol, or its name in the singular or plural and in any case.
bool names(std::string_view word, const DurationUnit& unit) {
  if (!unit.symbol.empty() && word == unit.symbol) return true;
  const std::string lower = lowered(word);
  return lower == unit.word || lower == std::string(unit.word) + 's';
}

// The unit that `word` names [ns], months and years included.
std::optional<Nanos> named_unit(std::string_view word) {
  for (const DurationUnit& unit : duration_units) {
    if (names(word, unit)) return unit.ns;
  }
  for (const DurationUnit& unit : long_units) {
    if (names(word, unit)) return unit.ns;
  }
  return std::nullopt;
}

// Returns value x unit, or std::nullopt if that is not a valid window.
std::optional<Nanos> window_of(u128 value, Nanos unit) {
  if (value == 0 || value > static_cast<u128>(limit::Quota::window_max / unit)) return std::nullopt;
  return static_cast<Nanos>(value) * unit;
}

// Beyond every range, and small enough that a multiplication by ten does not overflow.
constexpr u128 huge = u128{1} << 100;

// "10 per 2 hours" in its parts.
struct RateText {
  u128 count;
  u128 times;  // of the unit
  Nanos unit;  // [ns]
};

std::optional<RateText> split_rate(std::string_view text) {
  text = trimmed(text);
  const auto count = take_digits(text, huge);
  if (!count) return std::nullopt;
  text = trimmed(text);
  if (text.starts_with('/')) {
    text.remove_prefix(1);
  } else if (lowered(text.substr(0, 3)) == "per") {
    text.remove_prefix(3);
  } else {
    return std::nullopt;
  }
  text = trimmed(text);
  const auto times = take_digits(text, huge);
  const auto unit = named_unit(trimmed(text));
  if (!unit) return std::nullopt;
  return RateText{*count, times.value_or(1), *unit};
}

Failure<std::string> failure(std::string text) { return Failure<std::string>(std::move(text)); }

}  // namespace

Parsed<std::uint64_t> parse_integer(std::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto value = take_digits(text, huge);
  const bool is_integer = value && text.empty();
  if (is_integer && *value >= min && *value <= max) return static_cast<std::uint64_t>(*value);
  return failure(std::string(is_integer ? "is out of range" : "is not an integer") +
                 "; expected an integer, " + std::to_string(min) + " to " + std::to_string(max));
}

Parsed<std::uint64_t> parse_go_integer(std::string_view text, std::uint64_t min,
                                       std::uint64_t max) {
  const auto value = parse_integer(text, min, max);
  if (value && text.size() > 1 && text.starts_with('0')) {
    return failure("has a 0 in front, and is octal in Go; expected " + std::to_string(*value) +
                   " without it, if that is meant");
  }
  return value;
}

Parsed<std::uint64_t> parse_units(std::string_view text) {
  return parse_integer(text, 0, limit::Quota::units_max);
}

Parsed<Nanos> parse_duration(std::string_view text, Nanos min) {
  const auto value = take_digits(text, huge);
  const auto unit = duration_unit(text);
  if (value && unit) {
    if (*value == 0 && min == 0) return 0;
    if (const auto window = window_of(*value, *unit)) return *window;
    return failure("is out of range; expected " + std::to_string(static_cast<int>(min)) +
                   "ns to 999999999999999s");
  }
  return failure("is not a duration; expected " + std::string(duration_words));
}

Parsed<limit::Quota> parse_rate(std::string_view text) {
  const auto rate = split_rate(text);
  if (!rate) {
    return failure("is not a rate; expected UNITS/TIME, like 100/minute or 10 per 2 hours");
  }
  const auto window = window_of(rate->times, rate->unit);
  if (rate->count > limit::Quota::units_max || !window) {
    return failure(
        "is out of range; expected 0 to 999999999999999 units per 1ns to 999999999999999s");
  }
  return limit::Quota{static_cast<std::uint64_t>(rate->count), *window};
}

Parsed<CalendarRate> parse_calendar_rate(std::string_view text) {
  using limit::CalendarUnit;
  constexpr std::array<std::pair<std::string_view, CalendarUnit>, 3> units{
      {{"day", CalendarUnit::day}, {"week", CalendarUnit::week}, {"month", CalendarUnit::month}}};
  const auto rate = split_rate(text);
  for (const auto& [word, per] : units) {
    if (!rate || rate->times != 1 || rate->unit != named_unit(word)) continue;
    if (rate->count <= limit::Quota::units_max) {
      return CalendarRate{static_cast<std::uint64_t>(rate->count), per};
    }
    return failure("is out of range; expected 0 to 999999999999999 units");
  }
  return failure("is not a rate per day, week or month; expected one like 5000/month");
}

Parsed<std::uint64_t> parse_size(std::string_view text, std::uint64_t min, std::uint64_t max) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 4> suffixes{
      {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}}};
  const auto written = [&](std::uint64_t bytes) {
    for (auto it = suffixes.rbegin(); it != suffixes.rend(); ++it) {
      const auto& [suffix, shift] = *it;
      if (bytes >> shift << shift == bytes) {
        return std::to_string(bytes >> shift) + std::string(suffix);
      }
    }
    return std::string();
  };
  const auto value = take_digits(text, huge);
  if (value) {
    for (const auto& [suffix, shift] : suffixes) {
      if (text != suffix) continue;
      if (*value > max >> shift || *value << shift < min) {
        return failure("is out of range; expected " + written(min) + " to " + written(max));
      }
      return static_cast<std::uint64_t>(*value << shift);
    }
  }
  return failure("is not a size; expected bytes with an optional KiB, MiB or GiB, like 64MiB");
}

Parsed<unsigned> parse_percent(std::string_view text, unsigned max) {
  const std::string expected = "; expected 0% to " + std::to_string(max) + "%";
  const auto value = take_digits(text, huge);
  if (!value || text != "%") return failure("is not a percentage" + expected);
  if (*value > max) return failure("is out of range" + expected);
  return static_cast<unsigned>(*value);
}

Parsed<limit::Quota> bucket_quota(std::uint64_t burst, std::uint64_t count, Nanos period) {
  Nanos units_time = 0;
  if (!__builtin_mul_overflow(static_cast<Nanos>(burst), period, &units_time)) {
    const Nanos per_count = static_cast<Nanos>(count);
    const Nanos window = ceil_div(units_time, per_count);
    // Clients see whole seconds; if these are exact, units per window is the rate.
    if (window <= limit::Quota::window_max) {
      const bool exact = units_time % (per_count * nanos_per_second) == 0;
      return exact ? limit::Quota{burst, window} : limit::Quota{burst, window, count, period};
    }
  }
  return failure(
      "takes too long to fill; expected burst x period / count of at most "
      "999999999999999s");
}

std::string duration_text(Nanos span) {
  const auto unit = std::find_if(duration_units.rbegin(), duration_units.rend(),
                                 [&](const DurationUnit& one) { return span % one.ns == 0; });
  const Nanos count = span / unit->ns;
  // The longest windows are a little beyond 64 bits in nanoseconds: two parts of digits suffice.
  constexpr Nanos half = 1'000'000'000'000'000;
  std::string digits = std::to_string(static_cast<std::uint64_t>(count % half));
  if (count >= half) {
    digits = std::to_string(static_cast<std::uint64_t>(count / half)) +
             std::string(15 - digits.size(), '0') + digits;
  }
  return digits + std::string(unit->symbol);
}

}  // namespace headgate::policy
