// Recognises the names of rate limit fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::cli {

struct RateLimitField {
  enum class Kind : std::uint8_t {
    other,
    unread,  // its name contains "ratelimit", but no dialect has it
    age,
    retry_after,
    retry_after_ms,
    ratelimit,
    policy,
    limit,
    remaining,
    used,
    reset,
    reset_after,
    suffixed,
    resources,
  };
  Kind kind = Kind::other;
  std::string_view prefix;  // of the dialect's fields, as in field::ResponseView
};

[[nodiscard]] RateLimitField rate_limit_field(std::string_view name);

// For messages: "X-RateLimit-..." for "x-ratelimit-".
[[nodiscard]] std::string_view fields_of_prefix(std::string_view prefix);

}  // namespace headgate::cli
