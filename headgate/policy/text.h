// Texts as HTTP and the policy file define them: ASCII, independent of the locale.
#pragma once

#include <algorithm>
#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::policy {

// A token of RFC 9110, section 5.6.2: header names, methods, cookie names.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  for (const char c : text) {
    if (!is_digit(c) && !is_letter(c) && marks.find(c) == marks.npos) return false;
  }
  return !text.empty();
}

// What a String of RFC 9651 may hold, 0x20..0x7E.
[[nodiscard]] constexpr bool is_printable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

// "api.example:8080" without its port. Brackets of an IPv6 address stay.
[[nodiscard]] constexpr std::string_view without_port(std::string_view host) noexcept {
  const std::size_t colon = host.rfind(':');
  if (colon == host.npos || host.find(']', colon) != host.npos) return host;
  return host.substr(0, colon);
}

}  // namespace headgate::policy
