// Numbers as fields write them that no grammar binds: X-RateLimit-Remaining: 598.9
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/int128.h"

namespace headgate::field {

struct PlainNumber {
  i128 billionths = 0;  // >= 0, below 10^27

  [[nodiscard]] constexpr std::uint64_t floor() const noexcept {
    return static_cast<std::uint64_t>(billionths / 1'000'000'000);
  }
};

// Reads 1 to 18 digits, and perhaps a point and 1 to 9 more, with spaces around. Nothing if the
// text is something else: no sign, no exponent. No allocation.
[[nodiscard]] std::optional<PlainNumber> parse_plain_number(std::string_view text) noexcept;

}  // namespace headgate::field
