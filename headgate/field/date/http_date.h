// Dates of HTTP (RFC 9110, section 5.6.7), as seconds since 1970-01-01T00:00:00Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/writer.h"

namespace headgate::field {

// Where no clock is at hand to place a two-digit year: 2025-01-01.
inline constexpr std::int64_t default_epoch_near = 1'735'689'600;

// Reads the three forms that a recipient must accept:
//
//   Sun, 06 Nov 1994 08:49:37 GMT      IMF-fixdate
//   Sunday, 06-Nov-94 08:49:37 GMT     RFC 850; the year is at most 50 years after `near`
//   Sun Nov  6 08:49:37 1994           asctime
//
// The weekday must be one but is not held against the date; a leap second is read as the second
// after. Surrounding spaces and tabs are ignored. Nothing if the text is not such a date or names
// a day that does not exist. No allocation.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(
    std::string_view text, std::int64_t near = default_epoch_near) noexcept;

// Writes an IMF-fixdate. False, and nothing written, if it does not fit or if the year is not
// 0000 to 9999.
[[nodiscard]] bool write_http_date(Writer& out, std::int64_t seconds) noexcept;

}  // namespace headgate::field
