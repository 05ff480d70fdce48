// Reading quotas from Lists of Integers, which drafts 00 to 07 define and Envoy sends:
//
//   RateLimit-Policy: 100;w=60, 1000;w=3600                quota policies
//   RateLimit-Limit: 100, 100;w=60, 1000;w=3600            the limit in force, then quota policies
//
// Parameters other than w are ignored. Linear time; may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/field/sf/value.h"

namespace headgate::field {

struct QuotaPolicy {
  std::uint64_t q = 0;
  std::optional<std::uint64_t> w;  // [s]; 0 is read as absent
};

// Every member must have a w. A value without members is malformed.
[[nodiscard]] Result<std::vector<QuotaPolicy>, sf::Error> read_quota_policies(
    std::string_view value);

struct LimitInForce {
  std::uint64_t q = 0;
  std::vector<QuotaPolicy> policies;  // the limit itself comes first, if it has a w
};

// Every member except the first must have a w.
[[nodiscard]] Result<LimitInForce, sf::Error> read_limit_in_force(std::string_view value);

}  // namespace headgate::field
