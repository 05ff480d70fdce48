// Retry-After (RFC 9110, section 10.2.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/writer.h"

namespace headgate::field {

inline constexpr std::string_view retry_after_name = "Retry-After";

// Seconds to wait: digits, lowered to 999,999,999,999,999, or a date less `base`, the moment the
// response was made [Unix seconds]; a date in the past is 0. Nothing if the value is neither, or a
// date without a base. No allocation.
[[nodiscard]] std::optional<std::uint64_t> parse_retry_after(
    std::string_view value, std::optional<std::int64_t> base) noexcept;

// Writes delay-seconds. False, and nothing written, if they do not fit.
[[nodiscard]] bool write_retry_after(Writer& out, std::uint64_t seconds) noexcept;

}  // namespace headgate::field
