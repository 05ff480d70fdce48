// Debits, for costs that become known late: never denied, paid off by waiting, bounded by a quota.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second + 5};

constexpr std::array<Algorithm, 5> with_debts{Algorithm::linear, Algorithm::exponential,
                                              Algorithm::fixed_window, Algorithm::moving_window,
                                              Algorithm::sliding_window_counter};

Terms any_late_terms() {
  Terms terms;
  terms.algorithm = with_debts[*rc::gen::inRange<std::size_t>(0, with_debts.size())];
  terms.aligned = *rc::gen::arbitrary<bool>();
  terms.late = true;
  return terms;
}

Quota any_quota() {
  return {*rc::gen::inRange<std::uint64_t>(1, 100),
          *rc::gen::inRange<std::int64_t>(1, 100'000'000'000)};
}

RC_GTEST_PROP(Debit, IsNeverDeniedAndItsDebtIsBounded, ()) {
  const Terms terms = any_late_terms();
  const Quota quota = any_quota();
  const Law law = make_law(quota, terms).value();
  KeyState key;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    const auto cost = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 3 * quota.units),
                                      rc::gen::just(Quota::cost_max));
    RC_ASSERT(key.take(law, Op::debit, cost, noon).admitted);
  }
  // A debt of two quotas takes two windows to pay off; under the exponential law it fades by 1/e
  // per window.
  RC_ASSERT(key.peek(law, Instant{noon.ns + 2 * quota.window + 1}).remaining > 0);
}

RC_GTEST_PROP(Debit, DelaysWhatFollowsAndSaysSo, ()) {
  const Terms terms = any_late_terms();
  const Quota quota = any_quota();
  const Law law = make_law(quota, terms).value();
  KeyState key;
  const auto owed = *rc::gen::inRange<std::uint64_t>(1, quota.units + 1);
  const Decision d = key.take(law, Op::debit, quota.units + owed, noon);
  RC_ASSERT(d.admitted);
  RC_ASSERT(d.remaining == 0u);
  RC_ASSERT(d.reset >= 1u);
  RC_ASSERT(!key.admits(law, 1, noon));
  RC_ASSERT(key.spend(law, 0, noon).admitted);  // a cost of 0 is free, also in debt
  const Decision denied = key.spend(law, 1, noon);
  RC_ASSERT(denied.reset == d.reset);
  RC_ASSERT(key.admits(law, 1, Instant{noon.ns + denied.wait}));
  KeyState without;
  static_cast<void>(without.spend(law, quota.units, noon));
  const Instant later{noon.ns + *rc::gen::inRange<std::int64_t>(0, 200'000'000'000)};
  RC_ASSERT(key.peek(law, later).remaining <= without.peek(law, later).remaining);
}

RC_GTEST_PROP(Debit, OwesNothingIfCostsAreNotLate, ()) {
  Terms terms = any_late_terms();
  terms.late = false;
  const Quota quota = any_quota();
  const Law law = make_law(quota, terms).value();
  KeyState debited;
  KeyState spent;
  const Decision d = debited.take(law, Op::debit, 2 * quota.units + 1, noon);
  RC_ASSERT(d == spent.spend(law, quota.units, noon));
  const Instant later{noon.ns + *rc::gen::inRange<std::int64_t>(0, 200'000'000'000)};
  RC_ASSERT(debited.peek(law, later) == spent.peek(law, later));
}

RC_GTEST_PROP(Debit, OfAvailableUnitsIsASpend, ()) {
  const Terms terms = any_late_terms();
  const Quota quota = any_quota();
  const Law law = make_law(quota, terms).value();
  KeyState debited;
  KeyState spent;
  const auto first = *rc::gen::inRange<std::uint64_t>(0, quota.units + 1);
  static_cast<void>(debited.spend(law, first, noon));
  static_cast<void>(spent.spend(law, first, noon));
  const Instant now{noon.ns + *rc::gen::inRange<std::int64_t>(0, 50'000'000'000)};
  const auto left = spent.peek(law, now).remaining;
  const auto cost = *rc::gen::inRange<std::uint64_t>(0, left + 1);
  RC_ASSERT(debited.take(law, Op::debit, cost, now) == spent.spend(law, cost, now));
}

// q=10 a minute, 15 spent: the next minute has 5.
TEST(Debit, OfAFixedWindowIsCarriedIntoTheNext) {
  const Terms terms{.algorithm = Algorithm::fixed_window, .late = true};
  const Law law = make_law({10, 60 * second}, terms).value();
  KeyState key;
  const Decision d = key.take(law, Op::debit, 15, noon);
  EXPECT_EQ(d.remaining, 0u);
  EXPECT_EQ(d.reset, 60u);
  EXPECT_EQ(key.peek(law, Instant{noon.ns + 60 * second - 1}).remaining, 0u);
  EXPECT_EQ(key.peek(law, Instant{noon.ns + 60 * second}).remaining, 5u);
  EXPECT_EQ(key.peek(law, Instant{noon.ns + 120 * second - 1}).remaining, 5u);
  EXPECT_EQ(key.peek(law, Instant{noon.ns + 120 * second}).remaining, 10u);
}

// One unit per 6 s, and 5 are owed, so the next unit is available after 36 s.
TEST(Debit, OfTheLinearLawIsPaidOffUnitByUnit) {
  const Law law = make_law({10, 60 * second}, {.late = true}).value();
  KeyState key;
  EXPECT_EQ(key.take(law, Op::debit, 15, noon).reset, 36u);
  EXPECT_EQ(key.take(law, Op::refund, 15, noon).remaining, 10u);
  EXPECT_EQ(key.take(law, Op::debit, Quota::cost_max, noon).reset, 66u);
}

}  // namespace
}  // namespace headgate::limit
