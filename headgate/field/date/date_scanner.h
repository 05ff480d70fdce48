// Scanning dates and times.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "headgate/field/date/civil_time.h"

namespace headgate::field {

// Scans a date from left to right. After the first part that is missing, all functions fail, so
// that done() at the end is the only check that a caller needs.
class DateScanner {
 public:
  explicit DateScanner(std::string_view text) noexcept : left_(text) {}

  // Reads `text`.
  void expect(std::string_view text) noexcept {
    if (!left_.starts_with(text)) return fail();
    left_.remove_prefix(text.size());
  }

  // Reads `count` digits.
  int digits(std::size_t count) noexcept {
    if (left_.size() < count) return fail(), 0;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (left_[i] < '0' || left_[i] > '9') return fail(), 0;
      value = value * 10 + (left_[i] - '0');
    }
    left_.remove_prefix(count);
    return value;
  }

  // Reads one of `names`, or the first `length` characters of one, and returns its index.
  int one_of(std::span<const std::string_view> names,
             std::size_t length = std::string_view::npos) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names[i].substr(0, length);
      if (!left_.starts_with(name)) continue;
      left_.remove_prefix(name.size());
      return static_cast<int>(i);
    }
    return fail(), 0;
  }

  // Reads hh:mm:ss.
  void time(CivilTime& c) noexcept {
    c.hour = digits(2);
    expect(":");
    c.minute = digits(2);
    expect(":");
    c.second = digits(2);
  }

  // Reads c if it comes next.
  bool take(char c) noexcept {
    if (!starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }

  [[nodiscard]] bool starts_with(char c) const noexcept { return left_.starts_with(c); }
  [[nodiscard]] bool at_digit() const noexcept {
    return !left_.empty() && left_[0] >= '0' && left_[0] <= '9';
  }
  [[nodiscard]] bool done() const noexcept { return ok_ && left_.empty(); }

 private:
  void fail() noexcept {
    ok_ = false;
    left_ = {};
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace headgate::field
