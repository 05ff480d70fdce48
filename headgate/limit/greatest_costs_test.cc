// The greatest costs: no count wraps.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second};

using Units = std::uint64_t;
constexpr Units endless = std::numeric_limits<Units>::max();

// Once the count has reached 2^64 - 1, it stays there.
TEST(GreatestCosts, OfDeniedRequestsFillAFixedWindowUntilItEnds) {
  const Law law =
      make_law({5, 3600 * second}, {.denied = Denied::spend, .algorithm = Algorithm::fixed_window})
          .value();
  KeyState key;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(key.spend(law, endless, noon).admitted);
  for (const Units cost : {0, 1, 5}) {
    const Decision d = key.spend(law, cost, noon);
    EXPECT_FALSE(d.admitted) << cost;
    EXPECT_EQ(d.remaining, 0U) << cost;
    EXPECT_EQ(d.reset, 3600U) << cost;
    EXPECT_TRUE(d.wait == 3600 * second) << cost;
  }
  EXPECT_EQ(key.peek(law, noon).reset, 3600U);
  EXPECT_TRUE(key.admits(law, 5, {noon.ns + 3600 * second}));
}

}  // namespace
}  // namespace headgate::limit
