// Optional whitespace of HTTP (RFC 9110, section 5.6.3): spaces and tabs.
#pragma once

#include <string_view>

namespace headgate::field {

[[nodiscard]] constexpr std::string_view without_outer_whitespace(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace headgate::field
