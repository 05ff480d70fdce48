// What the linear law promises, for any policy, history and time.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <vector>

#include "headgate/limit/law.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;

// A policy and the clock that its history runs on.
struct Setting {
  Quota quota;
  Terms terms;
};

Setting any_setting() {
  Setting s;
  s.quota.units = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(1, 12),
                                  rc::gen::inRange<std::uint64_t>(1, 100'000),
                                  rc::gen::inRange<std::uint64_t>(1, Quota::units_max + 1));
  s.quota.window = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 1000),
                                   rc::gen::inRange<std::int64_t>(1, 100 * 1'000'000'000LL),
                                   rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 58));
  s.terms.denied = *rc::gen::element(Denied::free, Denied::spend, Denied::penalty);
  if (s.terms.denied == Denied::penalty) {
    s.terms.penalty = *rc::gen::inRange<std::int64_t>(1, 100 * 1'000'000'000LL);
  }
  s.terms.reset = *rc::gen::element(Reset::pace, Reset::next, Reset::full);
  return s;
}

// Costs and pauses that are close to the boundaries.
std::uint64_t any_cost(const Quota& q) {
  return *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 4),
                         rc::gen::inRange<std::uint64_t>(0, q.units + 2));
}

Nanos any_pause(const Quota& q) {
  const Nanos interval = q.window / static_cast<Nanos>(q.units);
  const auto near = *rc::gen::element<Nanos>(0, interval, q.window, q.window / 2, second);
  return std::max<Nanos>(0, near + *rc::gen::inRange(-2, 3));
}

struct Key {
  LinearExact law;
  std::optional<i128> tat;

  Decision spend(std::uint64_t cost, Instant now) {
    const auto step = law.spend(tat, cost, now);
    if (step.changed) tat = step.state;
    return step.decision;
  }
};

// Runs a random history on `key`, and returns its last moment.
Instant some_history(Key& key, const Quota& quota) {
  Instant now{*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 60)};
  const int steps = *rc::gen::inRange(0, 20);
  for (int i = 0; i < steps; ++i) {
    now.ns += any_pause(quota);
    key.spend(any_cost(quota), now);
  }
  return now;
}

RC_GTEST_PROP(Linear, ALoneClientThatSpendsWhatTheFieldsSayIsNeverDenied, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  Instant now = some_history(key, s.quota);
  const Decision d = key.spend(any_cost(s.quota), now);
  std::uint64_t left = d.remaining;
  for (int i = 0; i < 8 && left > 0; ++i) {
    now.ns += *rc::gen::element<Nanos>(0, 0, 1, second);
    const std::uint64_t cost = i == 7 ? left : *rc::gen::inRange<std::uint64_t>(0, left + 1);
    RC_ASSERT(key.spend(cost, now).admitted);
    left -= cost;
  }
}

RC_GTEST_PROP(Linear, RemainingIsTheLargestSuchNumber, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const Decision d = key.spend(any_cost(s.quota), now);
  Key all = key;
  if (d.remaining > 0) RC_ASSERT(all.spend(d.remaining, now).admitted);
  if (d.remaining < s.quota.units) RC_ASSERT(!key.spend(d.remaining + 1, now).admitted);
}

RC_GTEST_PROP(Linear, ADenialEndsExactlyWhenItSays, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  key.spend(key.law.peek(key.tat, 0, now).decision.remaining, now);
  const auto cost = *rc::gen::inRange<std::uint64_t>(1, s.quota.units + 1);
  const Decision d = key.spend(cost, now);
  RC_ASSERT(!d.admitted);
  RC_ASSERT(d.wait > 0);
  RC_ASSERT(d.reset == d.retry_after());
  Key before = key;
  RC_ASSERT(!before.spend(cost, Instant{now.ns + d.wait - 1}).admitted);
  RC_ASSERT(key.spend(cost, Instant{now.ns + d.wait}).admitted);
}

RC_GTEST_PROP(Linear, AfterTMoreIsAvailableAndRPerTIsAtMostQPerW, ()) {
  Setting s = any_setting();
  s.terms.reset = Reset::pace;
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const Decision d = key.spend(any_cost(s.quota), now);
  RC_PRE(d.admitted);
  if (d.remaining < s.quota.units) {
    const Instant then{now.ns + static_cast<Nanos>(d.reset) * second};
    RC_ASSERT(key.law.peek(key.tat, 0, then).decision.remaining > d.remaining);
  }
  // r/t <= q/w
  RC_ASSERT(static_cast<i128>(d.remaining) * s.quota.window <=
            static_cast<i128>(d.reset) * second * static_cast<i128>(s.quota.units));
}

RC_GTEST_PROP(Linear, NeverMoreThanQuotaPlusRefillInAnySpan, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  Instant now{0};
  std::vector<std::pair<Nanos, std::uint64_t>> admitted;
  for (int i = 0; i < 30; ++i) {
    now.ns += any_pause(s.quota);
    const std::uint64_t cost = any_cost(s.quota);
    if (key.spend(cost, now).admitted) admitted.emplace_back(now.ns, cost);
  }
  for (std::size_t from = 0; from < admitted.size(); ++from) {
    u128 units = 0;
    for (std::size_t to = from; to < admitted.size(); ++to) {
      units += admitted[to].second;
      const auto span = static_cast<u128>(admitted[to].first - admitted[from].first);
      // units <= q + span * q / w
      RC_ASSERT((units - std::min<u128>(units, s.quota.units)) *
                    static_cast<u128>(s.quota.window) <=
                span * s.quota.units);
    }
  }
}

RC_GTEST_PROP(Linear, TheExactRateIsSustainedWithoutDrift, ()) {
  const auto q = *rc::gen::inRange<std::uint64_t>(1, 50);
  const auto w = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
  Key key{*LinearExact::make({q, w}, {}), {}};
  RC_ASSERT(key.spend(q, Instant{0}).admitted);
  for (std::uint64_t i = 1; i <= 500; ++i) {
    // the moment when exactly i units have come back, to the nanosecond
    const Nanos due = ceil_div(static_cast<Nanos>(i) * w, static_cast<Nanos>(q));
    Key early = key;
    RC_ASSERT(!early.spend(1, Instant{due - 1}).admitted);
    RC_ASSERT(key.spend(1, Instant{due}).admitted);
  }
}

RC_GTEST_PROP(Linear, ABucketRefillsExactlyAtItsRate, ()) {
  // At least two units of at least a nanosecond each: a full bucket of less loses what comes back
  // within the nanosecond in which the clock finds it.
  Quota quota;
  quota.units = *rc::gen::inRange<std::uint64_t>(2, 50);
  quota.count = *rc::gen::inRange<std::uint64_t>(1, 200);
  const auto count = static_cast<Nanos>(quota.count);
  quota.period = count + *rc::gen::inRange<std::int64_t>(0, 60'000'000'000LL);
  quota.window = ceil_div(static_cast<Nanos>(quota.units) * quota.period, count);
  Key key{*LinearExact::make(quota, {}), {}};
  RC_ASSERT(key.spend(quota.units, Instant{0}).admitted);
  for (std::uint64_t i = 1; i <= 500; ++i) {
    const Nanos due = ceil_div(static_cast<Nanos>(i) * quota.period, count);
    Key early = key;
    RC_ASSERT(!early.spend(1, Instant{due - 1}).admitted);
    RC_ASSERT(key.spend(1, Instant{due}).admitted);
  }
}

TEST(Linear, ABucketShowsAWindowThatItsTNeverContradicts) {
  // 5 tokens, 120 per minute: full in 2.5 s, which clients see as 3 s.
  const Quota quota{5, 5 * second / 2, 120, 60 * second};
  const auto law = LinearWhole::make(quota, {});
  ASSERT_TRUE(law);
  std::optional<LinearWhole::State> tat;
  for (const std::uint64_t t : {3, 2, 2, 1, 1}) {  // r 4 to 0: at least r * 3/5, and 0.5 s
    const auto step = law->spend(tat, 1, Instant{0});
    EXPECT_EQ(step.decision.reset, t) << step.decision.remaining;
    tat = step.state;
  }
  const Decision denied = law->spend(tat, 1, Instant{0}).decision;
  EXPECT_FALSE(denied.admitted);
  EXPECT_TRUE(denied.wait == second / 2);
  EXPECT_TRUE(law->spend(tat, 5, Instant{5 * second / 2}).decision.admitted);
}

RC_GTEST_PROP(Linear, AnEarlierClockNeverGrantsMore, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const auto at_now = key.law.peek(key.tat, 0, now).decision;
  const Instant back{now.ns - *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 60)};
  RC_ASSERT(key.law.peek(key.tat, 0, back).decision.remaining <= at_now.remaining);
}

RC_GTEST_PROP(Linear, AClockThatWentBackLocksOutForAtMostAWindowAndAPenalty, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const Instant back{now.ns - *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 60)};
  key.spend(s.quota.units, back);  // the first request after the step corrects the state
  RC_ASSERT(key.spend(1, Instant{back.ns + 2 * s.quota.window + s.terms.penalty}).admitted);
}

RC_GTEST_PROP(Linear, PeeksAndFreeDenialsChangeNothing, ()) {
  Setting s = any_setting();
  s.terms = {};
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const auto before = key.tat;
  const std::uint64_t cost = any_cost(s.quota);
  RC_ASSERT(!key.law.peek(key.tat, cost, now).changed);
  if (!key.spend(cost, now).admitted) RC_ASSERT(key.tat == before);
  RC_ASSERT(key.spend(0, now).admitted);
  RC_ASSERT(!key.spend(s.quota.units + 1, now).admitted);
}

RC_GTEST_PROP(Linear, APeekDecidesAsASpend, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const std::uint64_t cost = 1 + any_cost(s.quota);
  const auto peeked = key.law.peek(key.tat, cost, now).decision;
  RC_ASSERT(peeked == key.spend(cost, now));
}

RC_GTEST_PROP(Linear, ARefundGivesBackWhatWasSpentAndNeverMoreThanTheQuota, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const auto before = key.law.peek(key.tat, 0, now).decision.remaining;
  const std::uint64_t cost = any_cost(s.quota);
  RC_PRE(key.spend(cost, now).admitted);
  auto step = key.law.refund(key.tat, cost, now);
  RC_ASSERT(step.decision.remaining == before);
  step = key.law.refund(key.tat, s.quota.units * 2, now);
  RC_ASSERT(step.decision.remaining <= s.quota.units);
}

RC_GTEST_PROP(Linear, ARefundGivesBackUnitsAlsoAfterTheClockWentBack, ()) {
  const Setting s = any_setting();
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant now = some_history(key, s.quota);
  const Instant back{now.ns - *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 60)};
  // All units that can have been spent, and as many that a denial can have cost.
  const auto step = key.law.refund(key.tat, 2 * s.quota.units, back);
  if (step.changed) key.tat = step.state;
  const Instant later{back.ns + s.terms.penalty};
  RC_ASSERT(key.law.peek(key.tat, 0, later).decision.remaining == s.quota.units);
}

// A debt of an hour is that of 360 units.
TEST(Linear, ARefundGivesBackUnitsOfALongPenalty) {
  Key key{
      *LinearExact::make({5, 50 * second}, {.denied = Denied::penalty, .penalty = 3600 * second}),
      {}};
  const Instant now{};
  for (int i = 0; i < 366; ++i) key.spend(1, now);
  const auto step = key.law.refund(key.tat, 361, now);
  EXPECT_EQ(step.decision.remaining, 0u);
  EXPECT_EQ(step.decision.reset, 10u);
  EXPECT_EQ(key.law.refund(key.tat, 362, now).decision.remaining, 1u);
}

RC_GTEST_PROP(Linear, BothWidthsAgree, ()) {
  Setting s = any_setting();
  s.quota.window -= s.quota.window % static_cast<Nanos>(s.quota.units);
  const auto whole = LinearWhole::make(s.quota, s.terms);
  RC_PRE(whole.has_value());
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  std::optional<std::int64_t> tat;
  Instant now{*rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << 60), std::int64_t{1} << 60)};
  for (int i = 0; i < 30; ++i) {
    now.ns += any_pause(s.quota) - *rc::gen::element<Nanos>(0, 0, 0, s.quota.window);
    const std::uint64_t cost = any_cost(s.quota);
    const auto step = whole->spend(tat, cost, now);
    if (step.changed) tat = step.state;
    RC_ASSERT(step.decision == key.spend(cost, now));
  }
}

template <class Law>
void expect_halves_to_be_a_spend(const Law& law, const typename Law::State& tat, std::uint64_t cost,
                                 Instant now) {
  const auto whole = law.spend(tat, cost, now);
  auto next = tat;
  const bool spends = law.spends(next, cost, law.ticks(now));
  RC_ASSERT(spends == (cost > 0 && whole.decision.admitted));
  if (!spends) return;
  Decision decision;
  law.admit(next, law.ticks(now), decision);
  RC_ASSERT(decision == whole.decision);
  RC_ASSERT(next == whole.state);
}

RC_GTEST_PROP(Linear, ASpendInTwoHalvesIsASpend, ()) {
  Setting s = any_setting();
  if (*rc::gen::arbitrary<bool>()) {
    s.quota.window = std::max<Nanos>(1, s.quota.window / static_cast<Nanos>(s.quota.units)) *
                     static_cast<Nanos>(s.quota.units);
  }
  Key key{*LinearExact::make(s.quota, s.terms), {}};
  const Instant then = some_history(key, s.quota);
  const Instant now{then.ns - *rc::gen::element<Nanos>(0, 0, s.quota.window, Nanos{1} << 60)};
  const std::uint64_t cost = any_cost(s.quota) + *rc::gen::element<std::uint64_t>(0, s.quota.units);
  const auto tat = key.tat.value_or(key.law.ticks(then));
  expect_halves_to_be_a_spend(key.law, tat, cost, now);
  if (const auto whole = LinearWhole::make(s.quota, s.terms)) {
    expect_halves_to_be_a_spend(*whole, static_cast<std::int64_t>(tat), cost, now);
  }
}

TEST(Linear, RefusesWhatItDoesNotSupport) {
  EXPECT_FALSE(LinearExact::make({0, second}, {}));
  EXPECT_FALSE(LinearExact::make({Quota::units_max + 1, second}, {}));
  EXPECT_FALSE(LinearExact::make({1, 0}, {}));
  EXPECT_FALSE(LinearExact::make({1, Quota::window_max + 1}, {}));
  EXPECT_FALSE(LinearExact::make({1, second}, {.denied = Denied::penalty})) << "no penalty given";
  EXPECT_FALSE(LinearExact::make({1, second}, {.penalty = second})) << "penalty without the mode";
  EXPECT_FALSE(LinearExact::make({1, second, Quota::units_max + 1, second}, {}));
  EXPECT_FALSE(LinearExact::make({1, second, 1, 0}, {}));
  EXPECT_FALSE(LinearExact::make({1, second, 1, Quota::window_max + 1}, {}));
  EXPECT_FALSE(LinearWhole::make({7, second}, {})) << "a seventh of a second is not whole";
  EXPECT_TRUE(LinearExact::make({7, second}, {}));
}

TEST(Linear, ServesTheLargestQuotasOverCenturies) {
  constexpr Nanos century = second * 86400 * 36525;
  for (const std::uint64_t units : {Quota::units_max, Quota::units_max - 2}) {
    for (const Nanos window : {Nanos{1}, second, 10 * century}) {
      const auto law = make_law({units, window}, {});
      ASSERT_TRUE(law) << units;
    }
  }
  EXPECT_FALSE(make_law({Quota::units_max - 2, Quota::window_max}, {})) << "beyond 128 bits";
}

}  // namespace
}  // namespace headgate::limit
