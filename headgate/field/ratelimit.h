// Writing RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), member by member,
// into a caller's buffer.
//
//   Writer w(buffer);
//   write_limit_member(w, "burst", 99, 60, {});                                "burst";r=99;t=60
//   w.put(member_separator);                                                   ,
//   write_limit_member(w, "daily", 4999, 86383, {});                           "daily";r=...
//
// A door that answers many requests keeps each policy's quoted name and its whole
// RateLimit-Policy member as text, made once with write_quoted_name() and write_policy_member(),
// and per response only puts that name and calls write_limit_parameters().
//
// All functions: the text is canonical (RFC 9651, section 4.1); numbers above 999,999,999,999,999
// are lowered to it; no allocation, no exception. They fail closed: on false the writer is as it
// was before, and the caller leaves the whole field out. False means that the text did not fit or
// that the value has no valid text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/writer.h"

namespace headgate::field {

inline constexpr std::string_view ratelimit_name = "RateLimit";
inline constexpr std::string_view policy_name = "RateLimit-Policy";
inline constexpr std::string_view member_separator = ", ";
inline constexpr std::string_view default_unit = "requests";

// Whether a unit goes without saying: "requests", also in the registry's spelling "request", or
// empty.
[[nodiscard]] constexpr bool is_default_unit(std::string_view unit) noexcept {
  return unit.empty() || unit == default_unit || unit == "request";
}

// `"burst"`. A name outside 0x20-0x7e is refused.
[[nodiscard]] bool write_quoted_name(Writer& out, std::string_view name) noexcept;

// `;r=99;t=60;pk=:AQ==:`, to stand after a quoted name. `pk_bytes` are raw bytes; they are written
// as base64. No t where waiting never helps or no time is known.
[[nodiscard]] bool write_limit_parameters(Writer& out, std::uint64_t r,
                                          std::optional<std::uint64_t> t,
                                          std::optional<std::string_view> pk_bytes) noexcept;

// One member of RateLimit: name and parameters.
[[nodiscard]] bool write_limit_member(Writer& out, std::string_view name, std::uint64_t r,
                                      std::optional<std::uint64_t> t,
                                      std::optional<std::string_view> pk_bytes) noexcept;

// `;q=100;qu="content-bytes";w=60;pk=:AQ==:`, to stand after a quoted name. A default unit is
// left out. w = 0 is refused: the field has no zero-length windows.
[[nodiscard]] bool write_policy_parameters(Writer& out, std::uint64_t q, std::string_view unit,
                                           std::optional<std::uint64_t> w,
                                           std::optional<std::string_view> pk_bytes) noexcept;

// One member of RateLimit-Policy: name and parameters.
[[nodiscard]] bool write_policy_member(Writer& out, std::string_view name, std::uint64_t q,
                                       std::string_view unit, std::optional<std::uint64_t> w,
                                       std::optional<std::string_view> pk_bytes) noexcept;

}  // namespace headgate::field
