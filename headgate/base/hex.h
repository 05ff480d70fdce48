// Bytes as hexadecimal digits, and bytes made harmless for terminals and pages.
#pragma once

#include <string>
#include <string_view>

namespace headgate {

inline constexpr std::string_view lower_hex = "0123456789abcdef";
inline constexpr std::string_view upper_hex = "0123456789ABCDEF";

// Writes the two digits of a byte. `Out` has put(char), as Writer has.
template <class Out>
constexpr void put_hex(Out& out, char byte, std::string_view digits = lower_hex) {
  const auto value = static_cast<unsigned char>(byte);
  out.put(digits[value >> 4]);
  out.put(digits[value & 15]);
}

// Appends to a std::string what is written to a Writer elsewhere.
struct Appender {
  std::string& out;
  void put(char c) { out += c; }
  void put(std::string_view text) { out += text; }
};

inline void append_hex(std::string& out, std::string_view bytes) {
  Appender appender{out};
  for (const char c : bytes) put_hex(appender, c);
}

// Appends printable ASCII as it is and any other byte as \xNN. A backslash is not doubled.
inline void append_printable(std::string& out, char c) {
  if (c >= 0x20 && c <= 0x7e) {
    out += c;
  } else {
    append_hex(out += "\\x", {&c, 1});
  }
}

}  // namespace headgate
