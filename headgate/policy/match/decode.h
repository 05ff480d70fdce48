// Percent-encoding, as upstreams decode it: what is malformed stays as it is.
#pragma once

#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::policy {

// Removes and returns the first character of a text that is not empty: the byte that %XX stands
// for, or the character itself. A '%' without two hex digits is such a character.
[[nodiscard]] inline char take_percent_decoded(std::string_view& text) noexcept {
  if (text[0] == '%' && text.size() >= 3) {
    const int high = hex_value(text[1]);
    const int low = hex_value(text[2]);
    if (high >= 0 && low >= 0) {
      text.remove_prefix(3);
      return static_cast<char>(high << 4 | low);
    }
  }
  const char c = text[0];
  text.remove_prefix(1);
  return c;
}

// The same, and reads "%u0041", too: IIS and Perl's CGI.pm take it for "A". Only for ASCII.
[[nodiscard]] inline char take_decoded(std::string_view& text) noexcept {
  constexpr std::string_view prefix = "%u00";
  if (text.size() >= prefix.size() + 2 && text.starts_with(prefix)) {
    const int high = hex_value(text[prefix.size()]);
    const int low = hex_value(text[prefix.size() + 1]);
    if (high >= 0 && high < 8 && low >= 0) {
      text.remove_prefix(prefix.size() + 2);
      return static_cast<char>(high << 4 | low);
    }
  }
  return take_percent_decoded(text);
}

}  // namespace headgate::policy
