#include "headgate/field/read/family.h"

#include <gtest/gtest.h>

namespace headgate::field {
namespace {

TEST(Family, IsFoundByTheNameInAnyCase) {
  constexpr struct {
    std::string_view name;
    Family family;
  } cases[] = {
      {"RateLimit", Family::ratelimit},
      {"ratelimit", Family::ratelimit},
      {"RATELIMIT-POLICY", Family::policy},
      {"RateLimit-Limit", Family::limit_fields},
      {"RateLimit-Reset", Family::limit_fields},
      {"RateLimit-Observed", Family::limit_fields},
      {"RateLimit-Policy2", Family::limit_fields},
      {"X-RateLimit-Limit", Family::x_ratelimit},
      {"X-Ratelimit-Used", Family::x_ratelimit},
      {"x-ratelimit-remaining-minute", Family::x_ratelimit},
      {"x-rate-limit-reset", Family::x_ratelimit},
      {"", Family::other},
      {"R", Family::other},
      {"RateLimi", Family::other},
      {"RateLimits", Family::other},
      {"X-RateLimit", Family::other},
      {"X-RateLimited", Family::other},
      {"Retry-After", Family::other},
      {"Beta-RateLimit", Family::beta},
      {"beta-ratelimit-policy", Family::beta},
      {"Beta-RateLimit-Limit", Family::other},
      {"Beta-", Family::other},
      {"Rate\x4cimit\xff", Family::other},
  };
  for (const auto& c : cases) EXPECT_EQ(family_of(c.name), c.family) << c.name;
}

}  // namespace
}  // namespace headgate::field
