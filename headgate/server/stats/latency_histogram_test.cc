#include "headgate/server/stats/latency_histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace headgate::server {
namespace {

constexpr auto bounds = LatencyHistogram::bounds;

TEST(LatencyHistogram, HasRoundBounds) {
  EXPECT_EQ(bounds.front(), 100u);
  EXPECT_EQ(bounds[4], 2000u);
  EXPECT_EQ(bounds.back(), 10'000'000'000u);
  EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
}

TEST(LatencyHistogram, BoundsAreInclusive) {
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_EQ(LatencyHistogram::bucket_of(bounds[i]), i);
    EXPECT_EQ(LatencyHistogram::bucket_of(bounds[i] + 1), i + 1);
  }
  EXPECT_EQ(LatencyHistogram::bucket_of(0), 0u);
  EXPECT_EQ(LatencyHistogram::bucket_of(~std::uint64_t{0}), bounds.size());
}

RC_GTEST_PROP(LatencyHistogram, FindsTheFirstBucketThatHoldsATime, (std::uint64_t random)) {
  const std::uint64_t time = random >> (random & 63);
  const auto found = std::lower_bound(bounds.begin(), bounds.end(), time);
  RC_ASSERT(LatencyHistogram::bucket_of(time) == static_cast<std::size_t>(found - bounds.begin()));
}

TEST(LatencyHistogram, AddsUp) {
  LatencyHistogram a;
  LatencyHistogram b;
  a.add(150);
  a.add(20'000'000'000);
  b.add(150);
  LatencyHistogram::Totals totals;
  (totals += a) += b;
  EXPECT_EQ(totals.counts[1], 2u);
  EXPECT_EQ(totals.counts.back(), 1u);
  EXPECT_EQ(totals.sum, 20'000'000'300u);
  EXPECT_EQ(std::accumulate(totals.counts.begin(), totals.counts.end(), std::uint64_t{0}), 3u);
}

}  // namespace
}  // namespace headgate::server
