// Texts as HTTP and the policy file define them: ASCII, independent of the locale.
#pragma once

#include <algorithm>
#include <cstddef>
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

// The name of a header in a policy file. headgate.h promises callers that it is no longer.
inline constexpr std::size_t header_name_max = 255;
[[nodiscard]] constexpr bool is_header_name(std::string_view text) noexcept {
  return text.size() <= header_name_max && is_token(text);
}

// What a String of RFC 9651 may hold, 0x20..0x7E.
[[nodiscard]] constexpr bool is_printable(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

// "api.example:8080" without its port (digits, or none). Brackets of an IPv6 address stay.
[[nodiscard]] constexpr std::string_view without_port(std::string_view host) noexcept {
  const std::size_t colon = host.rfind(':');
  if (colon == host.npos) return host;
  const std::string_view port = host.substr(colon + 1);
  return std::all_of(port.begin(), port.end(), is_digit) ? host.substr(0, colon) : host;
}

// Whether a host without port has only characters of names and addresses: letters, digits, '.', '-'
// and '_', or an IPv6 address in brackets; and no empty label, but for one final dot. In others,
// such as "user@host", "%61pi.example" or bytes beyond ASCII, upstreams that parse a URL read
// another host. An empty text, no host, is one.
[[nodiscard]] constexpr bool is_host(std::string_view host) noexcept {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return std::all_of(host.begin(), host.end(),
                       [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; });
  }
  char before = '.';
  for (const char c : host) {
    if (c == '.' ? before == '.' : !is_letter(c) && !is_digit(c) && c != '-' && c != '_')
      return false;
    before = c;
  }
  return true;
}

}  // namespace headgate::policy
