// Three fields that tell one limit in three numbers: how the drafts before 07 and the servers
// before any draft have it.
//
//   RateLimit-Limit: 100                      its quota; draft-03 adds all policies: 100, 100;w=60
//   RateLimit-Remaining: 50                   units left
//   RateLimit-Reset: 30                       for so many seconds
#pragma once

#include <cstdint>
#include <string_view>

namespace headgate::field {

struct LimitFields {
  std::string_view limit;
  std::string_view remaining;
  std::string_view reset;
};

// The longest reset that is written [s], 31 years: readers take 10^9 and more for a Unix time.
inline constexpr std::uint64_t limit_fields_reset_max = 999'999'999;

inline constexpr LimitFields draft_limit_fields{"RateLimit-Limit", "RateLimit-Remaining",
                                                "RateLimit-Reset"};
inline constexpr LimitFields x_limit_fields{"X-RateLimit-Limit", "X-RateLimit-Remaining",
                                            "X-RateLimit-Reset"};

}  // namespace headgate::field
