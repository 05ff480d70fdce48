// UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF): a check, one byte at
// a time, and characters of texts that may have other bytes, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headgate {

class Utf8Check {
 public:
  // Returns false from the first byte on that cannot follow the bytes before it.
  constexpr bool feed(std::uint8_t byte) noexcept {
    if (left_ > 0) {
      ok_ = ok_ && byte >= low_ && byte <= high_;
      low_ = 0x80;
      high_ = 0xbf;
      --left_;
      return ok_;
    }
    if (byte < 0x80) return ok_;
    ok_ = ok_ && byte >= 0xc2 && byte <= 0xf4;
    left_ = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    low_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
    high_ = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    return ok_;
  }

  // Whether all bytes were valid and the last character is complete.
  [[nodiscard]] constexpr bool complete() const noexcept { return ok_ && left_ == 0; }

 private:
  bool ok_ = true;
  int left_ = 0;
  std::uint8_t low_ = 0x80;
  std::uint8_t high_ = 0xbf;
};

[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  Utf8Check check;
  for (const char c : text) check.feed(static_cast<std::uint8_t>(c));
  return check.complete();
}

inline constexpr std::size_t utf8_max = 4;  // bytes of a character

// Returns the size of the first (last) character of a text that is not empty: 1 for a byte that
// belongs to none.
[[nodiscard]] constexpr std::size_t first_character(std::string_view text) noexcept {
  const auto first = static_cast<std::uint8_t>(text[0]);
  const std::size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return size <= text.size() && is_utf8(text.substr(0, size)) ? size : 1;
}
[[nodiscard]] constexpr std::size_t last_character(std::string_view text) noexcept {
  for (std::size_t size = 2; size <= std::min(utf8_max, text.size()); ++size) {
    const std::string_view last = text.substr(text.size() - size);
    if (static_cast<std::uint8_t>(last.front()) >= 0xc0) return is_utf8(last) ? size : 1;
  }
  return 1;
}

// Returns the code point of one character beyond ASCII.
[[nodiscard]] constexpr std::uint32_t code_point(std::string_view character) noexcept {
  // The first byte of N has N ones in front, the others 6 bits each.
  std::uint32_t point = static_cast<std::uint8_t>(character[0]) & (0x7fU >> character.size());
  for (const char c : character.substr(1)) {
    point = point << 6 | (static_cast<std::uint8_t>(c) & 0x3fU);
  }
  return point;
}

}  // namespace headgate
