// Writes JSON (RFC 8259).
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/writer.h"

namespace headgate {

// Appends a string with its quotes. If `text` is not UTF-8, each of its bytes above 0x7f becomes
// U+FFFD.
void append_json(std::string& out, std::string_view text);

template <class T>
concept UnsignedNumber = std::unsigned_integral<T> && !std::same_as<T, bool>;

template <UnsignedNumber Integer>
void append_json(std::string& out, Integer value) {
  char digits[20];  // of 2^64 - 1
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

inline void append_json(std::string& out, bool value) { out.append(value ? "true" : "false"); }

// Appends a span >= 0 [ns]: an integer that may have more than 64 bits.
void append_json(std::string& out, Nanos span);

// Writes any bytes as a string with its quotes, in ASCII: a byte above 0x7e becomes \u00xx, with
// the byte's value as the code point.
void write_json_bytes(Writer& out, std::string_view bytes) noexcept;

}  // namespace headgate
