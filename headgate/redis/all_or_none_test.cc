#include "headgate/redis/all_or_none.h"

#include <gtest/gtest.h>

#include <vector>

namespace headgate::redis {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'000'000 * second};

// During a penalty a spend of 0 is denied, though a peek of 0 never is.
TEST(AllOrNone, ADeniedSpendOfNothingIsShownAsDenied) {
  const limit::Law penal =
      limit::make_law({1, second}, {.denied = limit::Denied::penalty, .penalty = 30 * second})
          .value();
  const limit::Law other = limit::make_law({5, second}, {}).value();
  KeyState state(penal, {});
  for (int i = 0; i < 3; ++i) static_cast<void>(state.apply({&penal, "p", 1}, noon));

  const std::vector<store::Charge> charges{{&penal, "p", 0}, {&other, "o", 1}};
  std::vector<KeyState> states{state, KeyState(other, {})};
  std::vector<limit::Decision> decisions(2);
  EXPECT_FALSE(decide_all_or_none(charges, states, noon, decisions));
  EXPECT_FALSE(decisions[0].admitted);
  EXPECT_GT(decisions[0].wait, 0);
  EXPECT_TRUE(decisions[1].admitted);
  EXPECT_EQ(decisions[1].remaining, 5u);
  EXPECT_EQ(states[1].bytes(), "");
}

}  // namespace
}  // namespace headgate::redis
