// One line of text for people, on the stack.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::redis_module {

// What does not fit is left out. Never allocates.
class TextLine {
 public:
  TextLine& operator<<(std::string_view text) noexcept {
    for (const char c : text) put(c);
    return *this;
  }
  TextLine& operator<<(std::integral auto number) noexcept {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  // As "12.345000000 s".
  TextLine& seconds(Nanos span) noexcept {
    constexpr Nanos most = Nanos{1} << 90;  // 40 billion years
    if (span < 0) put('-');
    if (span < 0) span = -span;
    if (span > most) span = most;
    *this << static_cast<std::uint64_t>(span / nanos_per_second);
    put('.');
    auto rest = static_cast<std::uint64_t>(span % nanos_per_second);
    for (std::uint64_t unit = 100'000'000; unit > 0; unit /= 10) {
      put(static_cast<char>('0' + rest / unit % 10));
    }
    return *this << " s";
  }
  // Bytes of a key: those that are not printable as \xNN.
  TextLine& bytes(std::string_view text) noexcept {
    constexpr std::string_view hex = "0123456789abcdef";
    for (const char c : text) {
      if (c >= ' ' && c <= '~' && c != '\\') {
        put(c);
        continue;
      }
      const auto byte = static_cast<unsigned char>(c);
      *this << "\\x";
      put(hex[byte >> 4]);
      put(hex[byte & 15]);
    }
    return *this;
  }

  [[nodiscard]] std::string_view text() const noexcept { return {line_.data(), size_}; }

 private:
  void put(char c) noexcept {
    if (size_ < line_.size()) line_[size_++] = c;
  }

  std::array<char, 512> line_;
  std::size_t size_ = 0;
};

}  // namespace headgate::redis_module
