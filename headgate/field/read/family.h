// Which of the fields that tell rate limits a header field is.
#pragma once

#include <cstdint>
#include <string_view>

namespace headgate::field {

enum class Family : std::uint8_t {
  other,         // tells no rate limit
  ratelimit,     // RateLimit
  policy,        // RateLimit-Policy
  limit_fields,  // RateLimit-Limit, RateLimit-Remaining and whatever else begins with RateLimit-
  x_ratelimit,   // whatever begins with X-RateLimit- or X-Rate-Limit-
  beta,          // Beta-RateLimit and Beta-RateLimit-Policy: no form of ours
};

// By a field's name, whatever its case.
[[nodiscard]] Family family_of(std::string_view name) noexcept;

}  // namespace headgate::field
