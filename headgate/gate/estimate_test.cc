#include "headgate/gate/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "headgate/limit/quota.h"

namespace headgate::gate {
namespace {

TEST(Estimate, BeginsWithTheLargestCost) {
  Estimate estimate;
  EXPECT_FALSE(estimate.is_known());
  for (const std::uint64_t cost : {300, 40, 900, 100}) estimate = estimate.after(cost, 95);
  EXPECT_TRUE(estimate.is_known());
  EXPECT_EQ(estimate.units(), 900u);
}

TEST(Estimate, OfEqualCostsIsThatCost) {
  for (const std::uint64_t cost : {std::uint64_t{1}, std::uint64_t{312}, limit::Quota::cost_max}) {
    Estimate estimate;
    for (int i = 0; i < 1000; ++i) estimate = estimate.after(cost, 95);
    EXPECT_EQ(estimate.units(), cost);
  }
}

TEST(Estimate, ReservesAtLeastOneUnit) {
  Estimate estimate;
  for (int i = 0; i < 100; ++i) estimate = estimate.after(0, 50);
  EXPECT_EQ(estimate.units(), 1u);
}

// Costs whose quantile is known: as many as promised are covered, within a few percent.
TEST(Estimate, CoversTheShareOfCosts) {
  for (const unsigned percent : {50u, 90u, 95u, 99u}) {
    std::mt19937_64 random(7);
    std::exponential_distribution<double> costs(1.0 / 800);
    Estimate estimate;
    int covered = 0;
    constexpr int count = 20000;
    for (int i = 0; i < count; ++i) {
      const auto cost = static_cast<std::uint64_t>(std::lround(costs(random)));
      if (cost <= estimate.units()) ++covered;
      estimate = estimate.after(cost, percent);
    }
    EXPECT_NEAR(100.0 * covered / count, percent, 3) << percent;
  }
}

TEST(Estimate, FollowsCostsThatChange) {
  Estimate estimate;
  for (int i = 0; i < 1000; ++i) estimate = estimate.after(100, 95);
  for (int i = 0; i < 60; ++i) estimate = estimate.after(10000, 95);
  EXPECT_GT(estimate.units(), 9000u);
  for (int i = 0; i < 1000; ++i) estimate = estimate.after(100, 95);
  EXPECT_LT(estimate.units(), 120u);
}

}  // namespace
}  // namespace headgate::gate
