#include "headgate/redis/linear_text.h"

#include <algorithm>
#include <charconv>

#include "headgate/base/ascii.h"

namespace headgate::redis {
namespace {

// The latest time that is read: 30 digits, below 2^100.
constexpr Nanos most = Nanos{1'000'000'000'000'000} * 1'000'000'000'000'000 - 1;
constexpr int digits_least = 10;

// Reads digits, at least one, and removes them.
std::optional<Nanos> take_digits(std::string_view& text) noexcept {
  std::uint64_t first = 0;
  int digits = 0;
  // As many as fit into 64 bits.
  for (; digits < 18 && !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    first = first * 10 + static_cast<std::uint64_t>(text.front() - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  Nanos value = first;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    const bool fits = value < most / 10;
    value = fits ? value * 10 + (text.front() - '0') : most;
  }
  return value;
}

// Writes `value`, not negative, with at least so many digits, and returns the end.
char* write_digits(char* at, u128 value, int least) noexcept {
  // Digits that a division by this leaves fit into 64 bits.
  constexpr u128 parts = 1'000'000'000'000'000'000;
  constexpr int part_digits = 18;
  if (value >= parts) {
    at = write_digits(at, value / parts, least - part_digits);
    return write_digits(at, value % parts, part_digits);
  }
  std::array<char, 20> digits;
  const auto number = static_cast<std::uint64_t>(value);
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  const auto count = static_cast<int>(written.ptr - digits.data());
  for (int i = count; i < least; ++i) *at++ = '0';
  return std::copy(digits.data(), written.ptr, at);
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

std::string_view LinearText::write(Room& room) const noexcept {
  char* at = room.data();
  if (ns < 0) *at++ = '-';
  const auto magnitude = ns < 0 ? u128{0} - static_cast<u128>(ns) : static_cast<u128>(ns);
  at = write_digits(at, magnitude, digits_least);
  if (part > 0) {
    *at++ = '+';
    at = write_digits(at, static_cast<u128>(part), 1);
    *at++ = '/';
    at = write_digits(at, static_cast<u128>(scale), 1);
  }
  return {room.data(), static_cast<std::size_t>(at - room.data())};
}

}  // namespace headgate::redis
