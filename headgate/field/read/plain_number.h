// Reading the numbers of fields that no standard defines: X-RateLimit-Remaining: 598.9
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

// Reads 1 to 18 digits, optionally followed by a point and 1 to 9 digits, with spaces or tabs
// around them. Returns std::nullopt for any other text: signs and exponents are not read. No
// allocation.
[[nodiscard]] std::optional<PlainNumber> parse_plain_number(std::string_view text) noexcept;

}  // namespace headgate::field
