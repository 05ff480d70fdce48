// The forms in which a response can tell its rate limits: the current draft's, and the older ones
// that clients still read. docs/fields.md shows them side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headgate::field {

enum class Form : std::uint8_t {
  ratelimit,    // RateLimit and RateLimit-Policy, Lists of every policy (ratelimit.h)
  draft_07,     // RateLimit as a Dictionary (draft_07.h), RateLimit-Policy of numbers
  draft_06,     // a limit_fields (limit_fields.h), and RateLimit-Policy of numbers
  draft_03,     // a limit_fields, the policies in RateLimit-Limit
  x_ratelimit,  // the limit_fields as most servers have it, with X- before its names
};

// The most fields that forms without a name in common have together.
inline constexpr std::size_t fields_max = 8;

// The fields of a form, in the order in which they are written.
[[nodiscard]] std::span<const std::string_view> field_names(Form form) noexcept;

// A field that both forms have. Nothing: they can stand in one response.
[[nodiscard]] std::optional<std::string_view> shared_field(Form a, Form b) noexcept;

}  // namespace headgate::field
