#include "headgate/limit/shared.h"

#include <gtest/gtest.h>

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;

TEST(Shared, AShareOfAQuotaKeepsItsWindow) {
  EXPECT_EQ(share_of({200, 60 * second}, 25), (Quota{50, 60 * second}));
  EXPECT_EQ(share_of({200, 60 * second}, 100), (Quota{200, 60 * second}));
  EXPECT_EQ(share_of({Quota::units_max, second}, 99).units, Quota::units_max / 100 * 99 + 98);
}

TEST(Shared, AShareOfATokenBucketIsOneOfItsRate) {
  // 20 tokens, 40 per second; a quarter is 5 tokens, 40 per 4 seconds.
  EXPECT_EQ(share_of({20, second / 2, 40, second}, 25), (Quota{5, second / 2, 40, 4 * second}));
}

TEST(Shared, AShareOfASmallQuotaIsOneUnit) {
  EXPECT_EQ(share_of({3, second}, 1).units, 1U);
  EXPECT_EQ(share_of({0, second}, 50).units, 0U);
}

}  // namespace
}  // namespace headgate::limit
