// All lines of one field as one value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headgate/field/header_line.h"

namespace headgate::field {

// Lines are joined with ", ", as RFC 9651, section 4.2, asks; a single one stays where it is. Keeps
// views of the lines. Allocates, and may throw std::bad_alloc, only for several lines.
class FieldValue {
 public:
  // The name is given in lower case.
  FieldValue(std::span<const HeaderLine> headers, std::string_view lower_name);

  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::string_view text() const noexcept { return lines_ > 1 ? joined_ : first_; }

  // The first line.
  [[nodiscard]] std::string_view first() const noexcept { return first_; }

  // Where a byte of text() stands: which line of all headers, which byte of its value. A byte
  // between two lines counts as the second one's first. Needs lines() > 0.
  struct Position {
    std::size_t line;
    std::size_t offset;
  };
  [[nodiscard]] Position position(std::size_t offset) const noexcept;

 private:
  static constexpr std::string_view separator = ", ";

  std::span<const HeaderLine> headers_;
  std::string_view name_;
  std::size_t lines_ = 0;
  std::string_view first_;
  std::string joined_;
};

}  // namespace headgate::field
