// The forms in which rate limits can be written to a response: the current draft's, and the older
// ones that clients still read. docs/fields.md shows them side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headgate::field {

enum class Form : std::uint8_t {
  ratelimit,    // RateLimit and RateLimit-Policy, Lists of every policy (ratelimit.h)
  draft_07,     // RateLimit as a Dictionary (draft_07.h), RateLimit-Policy of numbers
  draft_06,     // RateLimit-Limit, -Remaining, -Reset (limit_fields.h), RateLimit-Policy of numbers
  draft_03,     // the same three fields, with the policies in RateLimit-Limit
  x_ratelimit,  // X-RateLimit-Limit, -Remaining and -Reset, as most servers have them
};

// The most fields that forms which share no field have together: those of ratelimit, draft_03 and
// x_ratelimit.
inline constexpr std::size_t fields_max = 8;

// Names the fields that pages of other origins may read
// (https://fetch.spec.whatwg.org/#http-access-control-expose-headers).
inline constexpr std::string_view expose_headers_name = "Access-Control-Expose-Headers";

// The fields of a form, in the order in which they are written.
[[nodiscard]] std::span<const std::string_view> field_names(Form form) noexcept;

// A field that both forms have; std::nullopt if both can be sent in one response.
[[nodiscard]] std::optional<std::string_view> shared_field(Form a, Form b) noexcept;

}  // namespace headgate::field
