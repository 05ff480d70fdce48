// Requests that wait (Terms::delay): charged when they come, in order, and no sooner or later than
// units come back.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "headgate/limit/testing/key_state.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'700'000'000 * second};

struct Laws {
  Law plain;   // without a delay
  Law denies;  // with a delay, for those who cannot wait
  Law waits;
};

Laws laws_of(const Quota& quota, Terms terms, Nanos delay) {
  Laws laws{make_law(quota, terms).value(), {}, {}};
  terms.delay = delay;
  laws.denies = make_law(quota, terms).value();
  terms.waits = true;
  laws.waits = make_law(quota, terms).value();
  return laws;
}

TEST(Delay, RequestsPassOneAfterTheOther) {
  const Laws laws = laws_of({1, second}, {}, 3 * second);
  KeyState key;
  for (int i = 0; i < 4; ++i) {
    const Decision decision = key.spend(laws.waits, 1, noon);
    EXPECT_TRUE(decision.admitted);
    EXPECT_EQ(decision.wait, i * second);
    EXPECT_EQ(decision.remaining, 0U);
    EXPECT_EQ(decision.reset, static_cast<std::uint64_t>(i + 1));
  }
  const Decision last = key.spend(laws.waits, 1, noon);
  EXPECT_FALSE(last.admitted);
  EXPECT_EQ(last.wait, 4 * second);
  EXPECT_EQ(key.spend(laws.denies, 1, noon).wait, 4 * second);
}

TEST(Delay, TheNextWindowIsNear) {
  const Laws laws = laws_of({3, 10 * second}, {.algorithm = Algorithm::fixed_window}, 2 * second);
  KeyState key;
  EXPECT_EQ(key.spend(laws.waits, 3, noon).wait, 0);
  EXPECT_FALSE(key.spend(laws.waits, 1, {noon.ns + 7 * second}).admitted) << "3 s are too long";
  const Instant late{noon.ns + 9 * second};
  for (int i = 0; i < 3; ++i) {
    const Decision decision = key.spend(laws.waits, 1, late);
    EXPECT_TRUE(decision.admitted);
    EXPECT_EQ(decision.wait, second);
  }
  const Decision denied = key.spend(laws.waits, 1, late);
  EXPECT_FALSE(denied.admitted) << "the next window is spent, too";
  EXPECT_EQ(denied.wait, 11 * second);
  EXPECT_FALSE(key.spend(laws.denies, 1, {noon.ns + 10 * second}).admitted);
}

TEST(Delay, IsOnlyForLawsThatKnowWhatComesWhen) {
  for (const Algorithm algorithm : {Algorithm::exponential, Algorithm::moving_window,
                                    Algorithm::sliding_window_counter, Algorithm::concurrency}) {
    EXPECT_FALSE(make_law({5, second}, {.algorithm = algorithm, .delay = second}));
  }
  EXPECT_FALSE(make_law({5, second}, {.denied = Denied::spend, .delay = second}));
}

// Of random requests that wait, each passes at the first moment at which the law without a delay
// admits it, if all pass in the order in which they came.
RC_GTEST_PROP(Delay, RequestsPassWhenTheLawWithoutADelayAdmitsThem, ()) {
  // A unit comes back in whole nanoseconds, to which waits are rounded up.
  const auto units = *rc::gen::inRange<std::uint64_t>(1, 20);
  const auto interval = *rc::gen::inRange<std::int64_t>(1, 2'000'000'000);
  const Quota quota{units, static_cast<Nanos>(units) * interval};
  Terms terms;
  if (*rc::gen::arbitrary<bool>()) terms.algorithm = Algorithm::fixed_window;
  terms.aligned = terms.algorithm == Algorithm::fixed_window && *rc::gen::arbitrary<bool>();
  const Laws laws = laws_of(quota, terms, *rc::gen::inRange<std::int64_t>(1, 30'000'000'000));
  KeyState key;
  KeyState passing;
  Instant now = noon;
  Instant last = noon;
  for (int i = 0; i < 40; ++i) {
    now.ns += *rc::gen::inRange(std::int64_t{0}, static_cast<std::int64_t>(quota.window / 5) + 2);
    const auto cost = *rc::gen::inRange<std::uint64_t>(1, quota.units + 1);
    KeyState unchanged = key;
    const Decision asked = unchanged.spend(laws.denies, cost, now);
    RC_ASSERT(key.admits(laws.waits, cost, now) ==
              KeyState(key).spend(laws.waits, cost, now).admitted);
    const Decision decision = key.spend(laws.waits, cost, now);
    RC_ASSERT(asked.wait == decision.wait);
    RC_ASSERT(asked.admitted == (decision.admitted && decision.wait == 0));
    if (!decision.admitted) continue;
    const Instant passes{now.ns + decision.wait};
    RC_ASSERT(passes.ns >= last.ns);
    const bool is_behind = passes.ns == last.ns;  // it passes with the one before
    last = passes;
    if (decision.wait > 0 && !is_behind)
      RC_ASSERT(!passing.admits(laws.plain, cost, {passes.ns - 1}));
    RC_ASSERT(passing.spend(laws.plain, cost, passes).admitted);
  }
}

// A client that cannot wait is told the same, whoever waits before it.
RC_GTEST_PROP(Delay, ADenialsWaitIsTrueBehindThoseWhoWait, ()) {
  const Quota quota{*rc::gen::inRange<std::uint64_t>(1, 10),
                    *rc::gen::inRange<std::int64_t>(1, 5'000'000'000)};
  const Laws laws = laws_of(quota, {}, *rc::gen::inRange<std::int64_t>(1, 10'000'000'000));
  KeyState key;
  for (int i = 0; i < 30; ++i) static_cast<void>(key.spend(laws.waits, 1, noon));
  const Decision denied = KeyState(key).spend(laws.denies, 1, noon);
  RC_ASSERT(!denied.admitted);
  RC_ASSERT(!key.admits(laws.denies, 1, {noon.ns + denied.wait - 1}));
  RC_ASSERT(key.admits(laws.denies, 1, {noon.ns + denied.wait}));
}

}  // namespace
}  // namespace headgate::limit
