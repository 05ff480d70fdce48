// Characters as protocols and the policy file define them: ASCII, independent of the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace headgate {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// The letter in lower (upper) case; any other character as it is.
[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return lower(c) >= 'a' && lower(c) <= 'z';
}

// 0 to 15, or -1 if `c` is no hexadecimal digit.
[[nodiscard]] constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

[[nodiscard]] constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return x == y || ((x ^ y) == 0x20 && is_letter(x)); });
}

[[nodiscard]] inline std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

// Without the optional whitespace of HTTP (RFC 9110, section 5.6.3), spaces and tabs, at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace headgate
