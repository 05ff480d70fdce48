#include "headgate/redis/linear_text.h"

#include <algorithm>

#include "headgate/base/ascii.h"

namespace headgate::redis {
namespace {

constexpr int digits_max = 30;  // below 2^100
constexpr std::size_t digits_least = 10;

// Reads digits, at least one, and removes them.
std::optional<Nanos> take_digits(std::string_view& text) noexcept {
  Nanos value = 0;
  int digits = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    if (digits == digits_max && value == 0) digits = 0;  // leading zeros
    if (digits < digits_max) {
      value = value * 10 + (text.front() - '0');
    } else {
      for (int i = 0; i < digits_max; ++i) value = i == 0 ? 9 : value * 10 + 9;
    }
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  return value;
}

std::string decimal(Nanos value, std::size_t least) {
  std::string digits;
  for (; value > 0; value /= 10) digits += static_cast<char>('0' + static_cast<int>(value % 10));
  if (digits.size() < least) digits.append(least - digits.size(), '0');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::optional<LinearText> LinearText::parse(std::string_view text) noexcept {
  LinearText read;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto ns = take_digits(text);
  if (!ns) return std::nullopt;
  read.ns = negative ? -*ns : *ns;
  if (text.empty()) return read;
  if (text.front() != '+') return std::nullopt;
  text.remove_prefix(1);
  const auto part = take_digits(text);
  if (!part || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  const auto scale = take_digits(text);
  if (!scale || !text.empty() || *part >= *scale) return std::nullopt;
  read.part = *part;
  read.scale = *scale;
  return read;
}

std::string LinearText::text() const {
  std::string text = ns < 0 ? "-" + decimal(-ns, digits_least) : decimal(ns, digits_least);
  if (part > 0) text += '+' + decimal(part, 1) + '/' + decimal(scale, 1);
  return text;
}

}  // namespace headgate::redis
