#include "headgate/field/read/plain_number.h"

#include <cstddef>

#include "headgate/base/ascii.h"

namespace headgate::field {
namespace {

// Removes up to `digits_max` digits from the front of the text, appends them to the number, and
// returns how many they are.
std::size_t take_digits(std::string_view& text, std::size_t digits_max, i128& number) noexcept {
  std::size_t digits = 0;
  for (; digits < text.size() && digits < digits_max; ++digits) {
    const char c = text[digits];
    if (c < '0' || c > '9') break;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return digits;
}

}  // namespace

std::optional<PlainNumber> parse_plain_number(std::string_view text) noexcept {
  constexpr std::size_t whole_max = 18;  // digits of 64 bits
  constexpr std::size_t places_max = 9;  // billionths; together 27 digits, which fit in 128 bits
  text = trimmed(text);
  PlainNumber number;
  if (take_digits(text, whole_max, number.billionths) == 0) return {};
  std::size_t places = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    places = take_digits(text, places_max, number.billionths);
    if (places == 0) return {};
  }
  if (!text.empty()) return {};
  for (; places < places_max; ++places) number.billionths *= 10;
  return number;
}

}  // namespace headgate::field
