// A key whose quota is lowered for a while, by an override, or at one of several machines: what was
// used under the larger quota stays used when that one is back.

#include <gtest/gtest.h>

#include <string>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos window = 10 * second;

Instant at(Nanos since_noon) { return {1'700'000'000 * second + since_noon}; }

struct Case {
  const char* name;
  Terms terms;
};

void PrintTo(const Case& the, std::ostream* out) { *out << the.name; }

class ChangedQuota : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { ASSERT_TRUE(key_.spend(large_, 9, at(0)).admitted); }

  const Law large_ = make_law({9, window}, GetParam().terms).value();
  const Law small_ = make_law({3, window}, GetParam().terms).value();
  KeyState key_;
};

TEST_P(ChangedQuota, ADenialForgetsNothing) {
  EXPECT_FALSE(key_.spend(small_, 1, at(0)).admitted);
  EXPECT_TRUE(key_.spend(small_, 0, at(0)).admitted);
  EXPECT_EQ(key_.take(small_, Op::peek, 0, at(0)).remaining, 0u);
  EXPECT_EQ(key_.peek(large_, at(0)).remaining, 0u);
}

TEST_P(ChangedQuota, ARefundGivesBackNoMoreThanItNames) {
  EXPECT_EQ(key_.take(small_, Op::refund, 1, at(0)).remaining, 0u) << "eight are still in use";
  EXPECT_EQ(key_.peek(large_, at(0)).remaining, 1u);
  EXPECT_EQ(key_.take(small_, Op::refund, 6, at(0)).remaining, 1u);
  EXPECT_EQ(key_.take(large_, Op::refund, Quota::cost_max, at(0)).remaining, 9u);
}

TEST_P(ChangedQuota, ACostThatBecameKnownLateForgetsNothing) {
  (void)key_.take(small_, Op::debit, 1, at(0));
  EXPECT_EQ(key_.peek(large_, at(0)).remaining, 0u);
}

TEST_P(ChangedQuota, AClockThatGoesBackForgetsNothing) {
  (void)key_.take(small_, Op::peek, 0, at(-second));
  EXPECT_EQ(key_.peek(large_, at(-second)).remaining, 0u);
}

// A bucket of the sliding window counter becomes the one before.
TEST_P(ChangedQuota, NorIsAnythingForgottenWhenAWindowIsOver) {
  const Instant later = at(window + second);
  KeyState other = key_;
  (void)other.take(small_, Op::peek, 0, later);
  EXPECT_LE(other.peek(large_, later).remaining, key_.peek(large_, later).remaining);
}

INSTANTIATE_TEST_SUITE_P(
    All, ChangedQuota,
    testing::Values(
        Case{"exponential", {.algorithm = Algorithm::exponential}},
        Case{"fixed_window", {.algorithm = Algorithm::fixed_window}},
        Case{"fixed_window_aligned", {.algorithm = Algorithm::fixed_window, .aligned = true}},
        Case{"fixed_window_late", {.algorithm = Algorithm::fixed_window, .late = true}},
        Case{"sliding_window_counter", {.algorithm = Algorithm::sliding_window_counter}},
        Case{"sliding_window_counter_aligned",
             {.algorithm = Algorithm::sliding_window_counter, .aligned = true}},
        Case{"sliding_window_counter_late",
             {.algorithm = Algorithm::sliding_window_counter, .late = true}},
        Case{"moving_window", {.algorithm = Algorithm::moving_window}},
        Case{"concurrency", {.algorithm = Algorithm::concurrency}}),
    [](const auto& the) { return std::string(the.param.name); });

}  // namespace
}  // namespace headgate::limit
