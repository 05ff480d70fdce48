// Writing RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers), member by member,
// into a caller's buffer.
//
//   Writer w(buffer);
//   write_limit_member(w, "burst", 99, 60, {});                                "burst";r=99;t=60
//   w.put(member_separator);                                                   ,
//   write_limit_member(w, "daily", 4999, 86383, {});                           "daily";r=...
//
// On the request path: write each policy's quoted name and its whole RateLimit-Policy member once,
// with write_quoted_name() and write_policy_member(), keep the texts, and per response only put the
// name and call write_limit_parameters().
//
// All functions write canonical text (RFC 9651, section 4.1), lower numbers above
// 999,999,999,999,999 to it, do not allocate and do not throw. They return false if the text does
// not fit or the value has no valid text; then the writer is unchanged, and the caller must omit
// the whole field.
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

// Whether the unit is the default, which is not written: "requests", "request" as the registry
// spells it, or empty.
[[nodiscard]] constexpr bool is_default_unit(std::string_view unit) noexcept {
  return unit.empty() || unit == default_unit || unit == "request";
}

// Writes `"burst"`. Returns false if the name has a byte outside 0x20-0x7e.
[[nodiscard]] bool write_quoted_name(Writer& out, std::string_view name) noexcept;

// Writes `;r=99;t=60;pk=:AQ==:`, which follows a quoted name. `pk_bytes` are raw bytes, which are
// written as base64. Pass no t if waiting never helps or no time is known.
[[nodiscard]] bool write_limit_parameters(Writer& out, std::uint64_t r,
                                          std::optional<std::uint64_t> t,
                                          std::optional<std::string_view> pk_bytes) noexcept;

// Writes one member of RateLimit: name and parameters.
[[nodiscard]] bool write_limit_member(Writer& out, std::string_view name, std::uint64_t r,
                                      std::optional<std::uint64_t> t,
                                      std::optional<std::string_view> pk_bytes) noexcept;

// Writes `;q=100;qu="content-bytes";w=60;pk=:AQ==:`, which follows a quoted name. A default unit is
// omitted. Returns false if w is 0: the field has no zero-length windows.
[[nodiscard]] bool write_policy_parameters(Writer& out, std::uint64_t q, std::string_view unit,
                                           std::optional<std::uint64_t> w,
                                           std::optional<std::string_view> pk_bytes) noexcept;

// Writes one member of RateLimit-Policy: name and parameters.
[[nodiscard]] bool write_policy_member(Writer& out, std::string_view name, std::uint64_t q,
                                       std::string_view unit, std::optional<std::uint64_t> w,
                                       std::optional<std::string_view> pk_bytes) noexcept;

}  // namespace headgate::field
