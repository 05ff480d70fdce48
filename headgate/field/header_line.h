// One field line of a header section.
#pragma once

#include <algorithm>
#include <string_view>

namespace headgate::field {

// `value` has no outer whitespace.
struct HeaderLine {
  std::string_view name;
  std::string_view value;
};

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Whether the line has this name, in any case; `lower_name` is in lower case.
[[nodiscard]] inline bool is_named(const HeaderLine& line, std::string_view lower_name) noexcept {
  return line.name.size() == lower_name.size() &&
         std::equal(line.name.begin(), line.name.end(), lower_name.begin(),
                    [](char a, char b) { return to_lower(a) == b; });
}

}  // namespace headgate::field
