// JSON as it is written.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::server {

// Appends a string with its quotes. Text that is not UTF-8 loses its bytes above 0x7f: each
// becomes U+FFFD.
void append_json(std::string& out, std::string_view text);

template <std::unsigned_integral Integer>
requires(!std::same_as<Integer, bool>) void append_json(std::string& out, Integer value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

inline void append_json(std::string& out, bool value) { out.append(value ? "true" : "false"); }

// A span >= 0 [ns]: an integer that may have more than 64 bits.
void append_json(std::string& out, Nanos span);

}  // namespace headgate::server
