// Writes text into a caller's buffer, without allocation.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "headgate/base/digits.h"

namespace headgate {

// Appends to a fixed buffer. A text that does not fit is not written at all, and overflow() becomes
// true: a text is never cut. The buffer must outlive the writer. Not thread-safe.
class Writer {
 public:
  explicit Writer(std::span<char> out) noexcept
      : begin_(out.data()), at_(out.data()), end_(out.data() + out.size()) {}

  void put(std::string_view text) noexcept {
    if (text.size() > room()) {
      overflow_ = true;
      return;
    }
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  void put(char c) noexcept {
    if (room() == 0) {
      overflow_ = true;
      return;
    }
    *at_++ = c;
  }

  void put_decimal(std::uint64_t value) noexcept {
    if (value < 100'000'000 && room() >= 8) {
      at_ += put_eight(value, at_);
      return;
    }
    put_any_decimal(value);
  }

  // A position: rewind(mark()) removes everything that was written in between and restores
  // overflow(). With it, a text of several parts is also written completely or not at all.
  class Mark {
    friend class Writer;
    Mark(char* at, bool overflow) noexcept : at_(at), overflow_(overflow) {}
    char* at_;
    bool overflow_;
  };
  [[nodiscard]] Mark mark() const noexcept { return {at_, overflow_}; }
  void rewind(Mark mark) noexcept {
    at_ = mark.at_;
    overflow_ = mark.overflow_;
  }

  [[nodiscard]] bool overflow() const noexcept { return overflow_; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {begin_, static_cast<std::size_t>(at_ - begin_)};
  }

 private:
  // Writes the digits of `value` < 100,000,000 without leading zeros, and returns their number.
  // Always writes eight characters; those after the digits have no meaning.
  static std::size_t put_eight(std::uint64_t value, char* to) noexcept {
    const std::uint64_t digits = eight_digits(value);
    const auto zeros = static_cast<unsigned>(std::countr_zero(digits | std::uint64_t{1} << 56)) / 8;
    const std::uint64_t text = (digits | 0x3030'3030'3030'3030) >> 8 * zeros;
    std::memcpy(to, &text, 8);
    return 8 - zeros;
  }
  [[gnu::noinline]] void put_any_decimal(std::uint64_t value) noexcept {
    const auto [end, error] = std::to_chars(at_, end_, value);
    if (error != std::errc{}) {
      overflow_ = true;
      return;
    }
    at_ = end;
  }

  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  char* begin_;
  char* at_;
  char* end_;
  bool overflow_ = false;
};

}  // namespace headgate
