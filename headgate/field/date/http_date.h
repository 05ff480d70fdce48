// Reading and writing dates of HTTP (RFC 9110, section 5.6.7), in seconds since
// 1970-01-01T00:00:00Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/writer.h"

namespace headgate::field {

// 2025-01-01: the time near which a two-digit year is placed if the caller has no clock.
inline constexpr std::int64_t default_epoch_near = 1'735'689'600;

// Reads the three forms that a recipient must accept:
//
//   Sun, 06 Nov 1994 08:49:37 GMT      IMF-fixdate
//   Sunday, 06-Nov-94 08:49:37 GMT     RFC 850; the year is at most 50 years after `near`
//   Sun Nov  6 08:49:37 1994           asctime
//
// The weekday must be valid but is not compared with the date; a leap second is read as the second
// after it. Outer spaces and tabs are ignored. Returns std::nullopt if the text is not such a date
// or the day does not exist. No allocation.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(
    std::string_view text, std::int64_t near = default_epoch_near) noexcept;

// Writes an IMF-fixdate. Returns false and writes nothing if it does not fit or the year is not
// 0000 to 9999.
[[nodiscard]] bool write_http_date(Writer& out, std::int64_t seconds) noexcept;

}  // namespace headgate::field
