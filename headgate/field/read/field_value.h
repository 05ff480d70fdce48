// All lines of one field, joined to one value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headgate/field/header_line.h"

namespace headgate::field {

// Lines are joined with ", ", as RFC 9651, section 4.2, requires; a single line is not copied.
// Keeps views of the lines. Allocates, and may throw std::bad_alloc, only if there are several
// lines.
class FieldValue {
 public:
  // `lower_name` is in lower case, and must outlive this object.
  FieldValue(std::span<const HeaderLine> headers, std::string_view lower_name);

  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::string_view text() const noexcept { return lines_ > 1 ? joined_ : first_; }

  // The first line.
  [[nodiscard]] std::string_view first() const noexcept { return first_; }

  // The position of a byte of text(): the index of the line in all headers, and of the byte in the
  // line's value. A byte of a separator has the position of the next line's first byte. Requires
  // lines() > 0.
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
