#include "headgate/field/date/go_duration.h"

#include <algorithm>
#include <array>

namespace headgate::field {
namespace {

constexpr Nanos saturated = (static_cast<Nanos>(field_integer_max) + 1) * nanos_per_second;

struct Unit {
  std::string_view name;
  Nanos ns;
};

// Units of two letters come first, so that "ms" is not read as minutes. The micro sign may be
// U+00B5 or U+03BC in UTF-8, or be in ISO 8859-1.
constexpr std::array<Unit, 9> units = {{{"ns", 1},
                                        {"us", 1'000},
                                        {"\xc2\xb5s", 1'000},
                                        {"\xce\xbcs", 1'000},
                                        {"\xb5s", 1'000},
                                        {"ms", 1'000'000},
                                        {"s", nanos_per_second},
                                        {"m", 60 * nanos_per_second},
                                        {"h", 3600 * nanos_per_second}}};

std::optional<Nanos> take_unit(std::string_view& text) noexcept {
  for (const Unit& unit : units) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return unit.ns;
  }
  return {};
}

bool take_digit(std::string_view& text, int& digit) noexcept {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  digit = text[0] - '0';
  text.remove_prefix(1);
  return true;
}

// Reads a number and its unit from the front of the text.
std::optional<Nanos> take_part(std::string_view& text) noexcept {
  constexpr Nanos whole_max = 1'000'000'000'000'000'000;  // times an hour fits in 128 bits
  constexpr Nanos scale_max = 1'000'000'000'000'000'000;  // 18 places; an hour has 13 digits in ns
  int digit = 0;
  bool has_digits = false;
  Nanos whole = 0;
  while (take_digit(text, digit)) {
    has_digits = true;
    whole = std::min(whole * 10 + digit, whole_max);
  }
  Nanos fraction = 0;
  Nanos scale = 1;
  bool more = false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    while (take_digit(text, digit)) {
      has_digits = true;
      if (scale == scale_max) {
        more = more || digit > 0;
        continue;
      }
      scale *= 10;
      fraction = fraction * 10 + digit;
    }
  }
  const auto unit = take_unit(text);
  if (!has_digits || !unit) return {};
  return whole * *unit + ceil_div(fraction * *unit + (more ? 1 : 0), scale);
}

}  // namespace

std::optional<Nanos> parse_go_duration(std::string_view text) noexcept {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return {};
  Nanos sum = 0;
  while (!text.empty()) {
    const auto part = take_part(text);
    if (!part) return {};
    sum = std::min(sum + *part, saturated);
  }
  return sum;
}

}  // namespace headgate::field
