// Which field of which dialect a name is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::cli {

struct RateLimitField {
  enum class Kind : std::uint8_t {
    other,
    unread,  // has rate limits in its name, but no dialect knows it
    age,
    retry_after,
    ratelimit,
    policy,
    limit,
    remaining,
    used,
    reset,
    reset_after,
    suffixed,
  };
  Kind kind = Kind::other;
  std::string_view prefix;  // as of field::ResponseView, of the dialect's fields
};

[[nodiscard]] RateLimitField rate_limit_field(std::string_view name);

// A dialect's fields for people: "X-RateLimit-..." of "x-ratelimit-".
[[nodiscard]] std::string_view fields_of_prefix(std::string_view prefix);

}  // namespace headgate::cli
