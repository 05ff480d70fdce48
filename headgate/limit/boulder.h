// Token buckets of Boulder (the software of Let's Encrypt) as quotas of the linear law.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

// Boulder adds one token every floor(period / count) nanoseconds, so its real rate is never below
// the one in its file. With quota = burst and window = burst * that interval, the linear law's tat
// is Boulder's TAT, and every decision is the same (boulder_test.cc).
//
// std::nullopt unless burst, count and period [ns] are positive, a token takes at least one
// nanosecond, and the linear law supports the window in which an empty bucket is filled.
[[nodiscard]] std::optional<Quota> boulder_quota(std::uint64_t burst, std::uint64_t count,
                                                 Nanos period) noexcept;

}  // namespace headgate::limit
