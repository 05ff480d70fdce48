// The units of durations, as users write them, and digits in front of them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "headgate/base/ascii.h"
#include "headgate/base/instant.h"

namespace headgate {

struct DurationUnit {
  std::string_view symbol;
  std::string_view word;
  Nanos ns;
};

inline constexpr std::array<DurationUnit, 8> duration_units{
    {{"ns", "nanosecond", 1},
     {"us", "microsecond", 1'000},
     {"ms", "millisecond", 1'000'000},
     {"s", "second", nanos_per_second},
     {"m", "minute", 60 * nanos_per_second},
     {"h", "hour", 3600 * nanos_per_second},
     {"d", "day", 86'400 * nanos_per_second},
     {"w", "week", 7 * 86'400 * nanos_per_second}}};

// The unit of this symbol [ns]; an empty one means seconds. std::nullopt if there is none.
[[nodiscard]] constexpr std::optional<Nanos> duration_unit(std::string_view symbol) noexcept {
  if (symbol.empty()) return nanos_per_second;
  for (const DurationUnit& unit : duration_units) {
    if (unit.symbol == symbol) return unit.ns;
  }
  return std::nullopt;
}

// Removes the leading digits of `text` and returns their value, at most `max`. Returns std::nullopt
// if there is no digit.
[[nodiscard]] constexpr std::optional<u128> take_digits(std::string_view& text, u128 max) noexcept {
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  u128 value = 0;
  while (!text.empty() && is_digit(text[0])) {
    const auto digit = static_cast<u128>(text[0] - '0');
    value = value > (max - digit) / 10 ? max : value * 10 + digit;
    text.remove_prefix(1);
  }
  return value;
}

}  // namespace headgate
