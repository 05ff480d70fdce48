// Dates of ISO 8601 as the internet writes them (RFC 3339), which some services send as the end of
// a rate limit's window.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headgate::field {

// Unix seconds of 2023-11-14T22:13:20Z or 2023-11-14 23:13:20.25+01:00, a fraction rounded up. The
// offset may lack its colon but must be there: without it nobody knows the moment. Nothing if the
// text is something else. No allocation.
[[nodiscard]] std::optional<std::int64_t> parse_iso_date(std::string_view text) noexcept;

}  // namespace headgate::field
