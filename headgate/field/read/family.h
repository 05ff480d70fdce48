// Which kind of rate limit field a header field is, by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace headgate::field {

enum class Family : std::uint8_t {
  other,         // no rate limit field
  ratelimit,     // RateLimit
  policy,        // RateLimit-Policy
  limit_fields,  // RateLimit-Limit and every other name that begins with RateLimit-
  x_ratelimit,   // every name that begins with X-RateLimit- or X-Rate-Limit-
  beta,          // Beta-RateLimit and Beta-RateLimit-Policy, which headgate reads but never writes
};

// `name` may be in any case.
[[nodiscard]] Family family_of(std::string_view name) noexcept;

}  // namespace headgate::field
