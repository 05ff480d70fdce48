// Reading dates of ISO 8601 in the profile of RFC 3339, which some services send as the end of a
// rate limit's window.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate::field {

// Reads dates such as 2023-11-14T22:13:20Z or 2023-11-14 23:13:20.25+01:00, and returns Unix
// seconds, a fraction rounded up. The offset from UTC is required, since without it the date is
// ambiguous; its colon is optional. Returns std::nullopt for any other text. No allocation.
[[nodiscard]] std::optional<std::int64_t> parse_iso_date(std::string_view text) noexcept;

}  // namespace headgate::field
