// One field line of a header section.
#pragma once

#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::field {

// `value` has no outer whitespace.
struct HeaderLine {
  std::string_view name;
  std::string_view value;
};

// Whether the line has this name, in any case; `lower_name` is in lower case.
[[nodiscard]] inline bool is_named(const HeaderLine& line, std::string_view lower_name) noexcept {
  return equal_ignoring_case(line.name, lower_name);
}

}  // namespace headgate::field
