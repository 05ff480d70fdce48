// The limit fields: three fields with one number each, which together describe one limit. Drafts 00
// to 06 have them and, with X- before the names, most servers that follow no draft.
//
//   RateLimit-Limit: 100                      the quota; draft-03 adds all policies: 100, 100;w=60
//   RateLimit-Remaining: 50                   units left
//   RateLimit-Reset: 30                       for that many seconds
#pragma once

#include <cstdint>
#include <string_view>

namespace headgate::field {

// The names of the three fields.
struct LimitFields {
  std::string_view limit;
  std::string_view remaining;
  std::string_view reset;
};

// The longest reset that is written [s], 31 years: readers read 10^9 and more as a Unix time.
inline constexpr std::uint64_t limit_fields_reset_max = 999'999'999;

inline constexpr LimitFields draft_limit_fields{"RateLimit-Limit", "RateLimit-Remaining",
                                                "RateLimit-Reset"};
inline constexpr LimitFields x_limit_fields{"X-RateLimit-Limit", "X-RateLimit-Remaining",
                                            "X-RateLimit-Reset"};

}  // namespace headgate::field
