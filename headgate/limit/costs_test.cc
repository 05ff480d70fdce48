// What requests without a cost, requests that cost too much, peeks and refunds do under each law:
// the table in docs/algorithms.md#costs-peeks-and-refunds.

#include <gtest/gtest.h>

#include <string>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second};

struct Case {
  const char* name;
  Terms terms;
  bool zero_after_denial = true;   // a cost of 0 is admitted after a denial
  bool large_costs_count = false;  // a denied cost above the quota is charged
  std::uint64_t left = 1;          // r after 5 of 5 units, two denied ones, and a refund of 1
};

void PrintTo(const Case& the, std::ostream* out) { *out << the.name; }

class Costs : public testing::TestWithParam<Case> {
 protected:
  Decision take(Op op, std::uint64_t cost, Nanos after = 0) {
    return key_.take(law_, op, cost, Instant{noon.ns + after});
  }

  Law law_ = make_law({5, 10 * second}, GetParam().terms).value();
  KeyState key_;
};

TEST_P(Costs, NothingCostsNothing) {
  for (std::uint64_t spent = 0; spent <= 5; ++spent) {
    const Decision d = take(Op::spend, 0);
    EXPECT_TRUE(d.admitted);
    EXPECT_EQ(d.remaining, 5 - spent);
    EXPECT_EQ(take(Op::spend, 1).admitted, spent < 5);
  }
}

TEST_P(Costs, NothingAfterADenial) {
  take(Op::spend, 5);
  ASSERT_FALSE(take(Op::spend, 1).admitted);
  const Decision d = take(Op::spend, 0);
  EXPECT_EQ(d.admitted, GetParam().zero_after_denial);
  EXPECT_EQ(d.remaining, 0u);
}

TEST_P(Costs, MoreThanTheQuotaIsNeverAdmitted) {
  const Decision d = take(Op::spend, 6);
  EXPECT_FALSE(d.admitted);
  EXPECT_EQ(d.reset, Decision::no_reset);
  EXPECT_TRUE(d.wait == Decision::never);
  EXPECT_EQ(d.remaining, GetParam().large_costs_count ? 0u : 5u);
  EXPECT_EQ(take(Op::spend, 5).admitted, !GetParam().large_costs_count);
}

TEST_P(Costs, APeekTakesNothing) {
  take(Op::spend, 3);
  for (const std::uint64_t cost : {0, 1, 2}) {
    EXPECT_TRUE(take(Op::peek, cost).admitted) << cost;
    EXPECT_EQ(take(Op::peek, 0).remaining, 2u) << cost;
  }
  EXPECT_FALSE(take(Op::peek, 3).admitted);
  EXPECT_FALSE(take(Op::peek, 6).admitted);
  EXPECT_EQ(take(Op::peek, 0).remaining, 2u);
  EXPECT_TRUE(take(Op::spend, 2).admitted);
  EXPECT_TRUE(take(Op::peek, 0).admitted) << "a peek without a cost is never denied";
}

TEST_P(Costs, ARefundGivesBackAtMostAFullQuota) {
  take(Op::spend, 3);
  EXPECT_EQ(take(Op::refund, 1).remaining, 3u);
  EXPECT_EQ(take(Op::refund, 100).remaining, 5u);
  EXPECT_FALSE(take(Op::spend, 6).admitted);
}

TEST_P(Costs, ARefundGivesBackWhatDenialsCostFirst) {
  take(Op::spend, 5);
  take(Op::spend, 1);
  take(Op::spend, 1);
  EXPECT_EQ(take(Op::refund, 1).remaining, GetParam().left);
  EXPECT_EQ(take(Op::refund, 100).remaining, 5u);
}

// Also what a key owes beyond its quota, by denials that have a cost.
TEST_P(Costs, ARefundOfTheLargestCostGivesAllBack) {
  take(Op::spend, 5);
  for (int i = 0; i < 3; ++i) take(Op::spend, Quota::cost_max);
  for (int i = 0; i < 3; ++i) take(Op::spend, 1);
  EXPECT_EQ(take(Op::refund, Quota::cost_max).remaining, 5u);
  EXPECT_TRUE(take(Op::spend, 5).admitted);
}

INSTANTIATE_TEST_SUITE_P(
    All, Costs,
    testing::Values(
        Case{"linear", {}}, Case{"linear_spend", {.denied = Denied::spend}, true, false, 0},
        Case{
            "linear_penalty", {.denied = Denied::penalty, .penalty = 30 * second}, false, false, 0},
        Case{"linear_long_penalty",
             {.denied = Denied::penalty, .penalty = 3600 * second},
             false,
             false,
             0},
        Case{"exponential", {.algorithm = Algorithm::exponential}},
        Case{"exponential_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::exponential},
             false,
             false,
             0},
        Case{"fixed_window", {.algorithm = Algorithm::fixed_window}},
        Case{"fixed_window_spend",
             {.denied = Denied::spend, .algorithm = Algorithm::fixed_window},
             false,
             true,
             0},
        Case{"sliding_window_counter", {.algorithm = Algorithm::sliding_window_counter}},
        Case{"moving_window", {.algorithm = Algorithm::moving_window}},
        Case{"concurrency", {.algorithm = Algorithm::concurrency}}),
    [](const auto& the) { return std::string(the.param.name); });

// After 5 of 5 units and three denials of one, each refund gives one back.
TEST(FixedWindowCosts, EachDenialCounts) {
  const Law law =
      make_law({5, 10 * second}, {.denied = Denied::spend, .algorithm = Algorithm::fixed_window})
          .value();
  KeyState key;
  for (int i = 0; i < 8; ++i) key.spend(law, 1, noon);
  for (const std::uint64_t left : {0, 0, 0, 1, 2}) {
    EXPECT_EQ(key.take(law, Op::refund, 1, noon).remaining, left);
  }
  EXPECT_TRUE(key.spend(law, 2, noon).admitted);
}

// A denial under `spend` leaves a debt of the linear law, which the next attempt forgets, also one
// without a cost.
TEST(LinearCosts, EachAttemptForgetsTheDebtOfADenial) {
  const Law law = make_law({5, 10 * second}, {.denied = Denied::spend}).value();
  KeyState key;
  key.spend(law, 5, noon);
  EXPECT_TRUE(key.spend(law, 3, noon).wait == 12 * second);
  EXPECT_TRUE(key.spend(law, 0, noon).admitted);
  EXPECT_TRUE(key.spend(law, 1, Instant{noon.ns + 2 * second}).admitted);
}

// Every access moves the buckets of a sliding window counter on, a peek, too: the bucket that is
// current then began where the one before it ended, and not at the next request.
TEST(SlidingWindowCosts, APeekMovesTheBucketsOn) {
  const Law law =
      make_law({5, 10 * second}, {.algorithm = Algorithm::sliding_window_counter}).value();
  KeyState quiet;
  quiet.spend(law, 1, noon);
  KeyState seen = quiet;
  seen.take(law, Op::peek, 0, Instant{noon.ns + 19 * second});
  const Instant later{noon.ns + 21 * second};
  EXPECT_EQ(seen.spend(law, 5, later).reset, 10u) << "its bucket began at 20 s";
  EXPECT_EQ(quiet.spend(law, 5, later).reset, 11u) << "its bucket begins at 21 s";
}

}  // namespace
}  // namespace headgate::limit
