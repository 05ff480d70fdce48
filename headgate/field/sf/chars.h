// The character classes of RFC 9651.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headgate::field::sf {

enum CharClass : std::uint8_t {
  key_start = 1,    // lcalpha, "*"
  key_char = 2,     // lcalpha, DIGIT, "_", "-", ".", "*"
  token_start = 4,  // ALPHA, "*"
  token_char = 8,   // tchar, ":", "/"
  base64_char = 16,
  digit_char = 32,
};

namespace chars_detail {

constexpr std::array<std::uint8_t, 256> make_table() noexcept {
  std::array<std::uint8_t, 256> table{};
  const auto mark = [&table](std::string_view chars, unsigned classes) {
    for (const char c : chars) {
      auto& entry = table[static_cast<unsigned char>(c)];
      entry = static_cast<std::uint8_t>(entry | classes);
    }
  };
  mark("abcdefghijklmnopqrstuvwxyz", key_start | key_char);
  mark("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
       token_start | token_char | base64_char);
  mark("0123456789", key_char | token_char | base64_char | digit_char);
  mark("*", key_start | key_char | token_start);
  mark("_-.", key_char);
  mark("!#$%&'*+-.^_`|~:/", token_char);
  mark("+/", base64_char);
  return table;
}

inline constexpr std::array<std::uint8_t, 256> table = make_table();

}  // namespace chars_detail

[[nodiscard]] constexpr bool is(char c, CharClass wanted) noexcept {
  return (chars_detail::table[static_cast<unsigned char>(c)] & wanted) != 0;
}

[[nodiscard]] constexpr bool is_key(std::string_view text) noexcept {
  if (text.empty() || !is(text.front(), key_start)) return false;
  for (const char c : text) {
    if (!is(c, key_char)) return false;
  }
  return true;
}

[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  if (text.empty() || !is(text.front(), token_start)) return false;
  for (const char c : text) {
    if (!is(c, token_char)) return false;
  }
  return true;
}

// -1 if c is not one of 0-9, a-f (section 3.3.8 has lower case only).
[[nodiscard]] constexpr int lower_hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace headgate::field::sf
