// White space as upstreams drop it around names and values: more than HTTP's own.
#pragma once

#include <cstddef>
#include <string_view>

namespace headgate::policy {

// Whether a character is white space to programs that know ASCII alone: also NUL, which PHP's
// trim() takes off, and 0x1c to 0x1f, at which Python's str.split() splits.
[[nodiscard]] constexpr bool is_ascii_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f') || c == '\0';
}

// Returns the size of the white space at the beginning (end) of a text: that of one character, or 0
// if it has none. Bytes beyond ASCII are Latin-1 to some upstreams (Node, WSGI) and UTF-8 to others
// (Django, Go): a space in either is one, but 0x85 and 0xa0 within another character of UTF-8 are
// not.
[[nodiscard]] std::size_t leading_space(std::string_view text) noexcept;
[[nodiscard]] std::size_t trailing_space(std::string_view text) noexcept;

// Returns the text without the white space at both ends.
[[nodiscard]] std::string_view without_space(std::string_view text) noexcept;

}  // namespace headgate::policy
