// Checks whether bytes are UTF-8, one byte at a time (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF).
#pragma once

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

}  // namespace headgate
