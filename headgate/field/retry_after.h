// Reading and writing Retry-After (RFC 9110, section 10.2.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/writer.h"

namespace headgate::field {

inline constexpr std::string_view retry_after_name = "Retry-After";

// Returns the seconds to wait: the value's digits, lowered to 999,999,999,999,999; or the time from
// `base`, when the response was made [Unix seconds], to the value's date, 0 if the date is past.
// Returns std::nullopt if the value is neither, or is a date and `base` is missing. No allocation.
[[nodiscard]] std::optional<std::uint64_t> parse_retry_after(
    std::string_view value, std::optional<std::int64_t> base) noexcept;

// The fields that are Retry-After in milliseconds, which no standard defines.
inline constexpr std::string_view retry_after_ms_names[] = {"retry-after-ms",
                                                            "x-ms-retry-after-ms"};

// Whether the field is one of these. `name` may be in any case.
[[nodiscard]] bool is_retry_after_ms(std::string_view name) noexcept;

// Returns the milliseconds of such a field as seconds, rounded up: a number >= 0, which may have a
// fraction. Returns std::nullopt for any other value. No allocation.
[[nodiscard]] std::optional<std::uint64_t> parse_retry_after_ms(std::string_view value) noexcept;

// Writes delay-seconds. Returns false and writes nothing if they do not fit.
[[nodiscard]] bool write_retry_after(Writer& out, std::uint64_t seconds) noexcept;

}  // namespace headgate::field
