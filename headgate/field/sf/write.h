// Writes the canonical text of RFC 9651's scalars (section 4.1) to any `Out` that has put(char) and
// put(std::string_view), such as a Writer on the request path.
//
// The functions return false if the value has no text in its type; the caller must then remove what
// was already put.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "headgate/field/sf/value.h"

namespace headgate::field::sf {

template <class Out>
bool write_integer(Out& out, std::int64_t value) {
  if (value > integer_max || value < -integer_max) return false;
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  return true;
}

template <class Out>
bool write_string(Out& out, std::string_view text) {
  out.put('"');
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return false;  // also every byte above 0x7f, whichever sign char has
    if (c == '"' || c == '\\') out.put('\\');
    out.put(c);
  }
  out.put('"');
  return true;
}

template <class Out>
bool write_bytes(Out& out, std::string_view bytes) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out.put(':');
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      word = word << 8 | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    char quad[4];
    for (std::size_t j = 0; j < 4; ++j) {
      quad[j] = j <= have ? alphabet[word >> (18 - 6 * j) & 63] : '=';
    }
    out.put(std::string_view(quad, 4));
  }
  out.put(':');
  return true;
}

}  // namespace headgate::field::sf
