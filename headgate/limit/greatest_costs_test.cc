// Costs, quotas and debts up to the greatest ones, under every law: no count wraps, a denial's wait
// is enough, and a refund of Quota::cost_max gives back all that was taken or is owed.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second};

using Units = std::uint64_t;
constexpr Units endless = std::numeric_limits<Units>::max();

Quota any_quota() {
  const Units units =
      *rc::gen::oneOf(rc::gen::inRange<Units>(0, 9), rc::gen::inRange<Units>(0, Quota::cost_max),
                      rc::gen::inRange<Units>(Quota::units_max - 9, Quota::cost_max));
  // Of both forms of the linear law.
  const bool is_whole = *rc::gen::arbitrary<bool>();
  const auto window = is_whole ? static_cast<std::int64_t>(std::max<Units>(units, 1)) *
                                     *rc::gen::inRange<std::int64_t>(1, 1000)
                               : *rc::gen::inRange<std::int64_t>(1, 1'000'000 * second);
  return {units, window};
}

struct Variant {
  Terms terms;
  Law law;

  [[nodiscard]] std::string text() const {
    return "algorithm " + std::to_string(static_cast<int>(terms.algorithm)) + ", denied " +
           std::to_string(static_cast<int>(terms.denied)) + ", reset " +
           std::to_string(static_cast<int>(terms.reset)) + (terms.late ? ", late" : "") +
           (terms.aligned ? ", aligned" : "") + (terms.delay > 0 ? ", delay" : "") +
           (terms.waits ? ", waits" : "") + ": ";
  }
};

// Every law that there is for a quota.
std::vector<Variant> every_law(const Quota& quota) {
  std::vector<Variant> laws;
  for (unsigned choice = 0; choice < 6 * 3 * 4 * 16; ++choice) {
    Terms terms;
    terms.algorithm = static_cast<Algorithm>(choice % 6);
    terms.denied = static_cast<Denied>(choice / 6 % 3);
    terms.reset = static_cast<Reset>(choice / 18 % 4);
    const unsigned flags = choice / 72;
    terms.late = (flags & 1) != 0;
    terms.aligned = (flags & 2) != 0;
    terms.delay = (flags & 4) != 0 ? quota.window / 2 : 0;
    terms.waits = (flags & 8) != 0 && terms.delay > 0;
    if (terms.denied == Denied::penalty) terms.penalty = 1 + quota.window / 3;
    terms.log = 3;
    if (const auto law = make_law(quota, terms)) laws.push_back({terms, *law});
  }
  return laws;
}

struct Step {
  Op op = Op::spend;
  Units cost = 0;
  Nanos pause = 0;  // before it [ns]; negative: the clock goes back
};

std::vector<Step> any_steps(const Quota& quota) {
  std::vector<Step> steps(*rc::gen::inRange<std::size_t>(1, 16));
  const auto window = static_cast<std::int64_t>(quota.window);
  for (Step& step : steps) {
    step.op = *rc::gen::element(Op::spend, Op::spend, Op::spend, Op::peek, Op::refund, Op::debit);
    step.cost = *rc::gen::oneOf(
        rc::gen::inRange<Units>(0, quota.units + 2),
        rc::gen::element<Units>(0, 1, quota.units, 2 * quota.units, Quota::units_max,
                                Quota::cost_max, endless - 1, endless));
    step.pause =
        *rc::gen::oneOf(rc::gen::just<std::int64_t>(0),
                        rc::gen::inRange<std::int64_t>(-window / 2, window + window / 2 + 1));
  }
  return steps;
}

// What is wrong when these steps are followed by a reset; empty if nothing is.
std::string fault(const Law& law, Units quota, const std::vector<Step>& steps) {
  KeyState key;
  Instant now = noon;
  for (const Step& step : steps) {
    now.ns += step.pause;
    const Decision d = key.take(law, step.op, step.cost, now);
    if (d.remaining > quota) return "more than the quota is left";
    if (d.remaining < quota && d.reset == 0) return "less than the quota is left, and t is 0";
    if (d.admitted) continue;
    if (d.wait <= 0) return "a denial has no wait";
    // A peek's wait is that of the spend that is not made.
    const bool can_pass = step.cost <= quota && d.wait != Decision::never;
    if (step.op != Op::spend || !can_pass) continue;
    if (!key.admits(law, step.cost, {now.ns + d.wait})) return "a denial's wait is not enough";
  }
  if (key.take(law, Op::refund, Quota::cost_max, now).remaining != quota) {
    return "after the reset, less than the quota is left";
  }
  const Decision all = key.spend(law, quota, now);
  return all.admitted && all.wait == 0 ? "" : "after the reset, the quota cannot be spent";
}

RC_GTEST_PROP(GreatestCosts, WrapNoCountAndAResetGivesAllBack, ()) {
  const Quota quota = any_quota();
  const std::vector<Step> steps = any_steps(quota);
  for (const Variant& variant : every_law(quota)) {
    const std::string found = fault(variant.law, quota.units, steps);
    if (!found.empty()) RC_FAIL(variant.text() + found);
  }
}

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
