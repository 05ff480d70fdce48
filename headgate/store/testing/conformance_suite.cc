#include <algorithm>
#include <atomic>
#include <barrier>
#include <random>
#include <thread>

#include "headgate/limit/calendar.h"
#include "headgate/limit/testing/key_state.h"
#include "headgate/limit/testing/vectors.h"
#include "headgate/store/testing/conformance.h"

namespace headgate::store {
namespace {

using limit::Decision;
using limit::Denied;
using limit::Law;
using limit::Op;

constexpr Nanos second = nanos_per_second;
constexpr Instant noon{1'000'000 * nanos_per_second};

Law law(std::uint64_t quota, Nanos window, limit::Terms terms = {}) {
  return limit::make_law({quota, window}, terms).value();
}

// The interval is a whole number of nanoseconds, or not: the two kinds of cells.
const Law narrow = law(10, 10 * second);
const Law wide = law(7, 10 * second);
// Has a log as its state.
const Law moving = law(7, 10 * second, {.algorithm = limit::Algorithm::moving_window});

}  // namespace

StoreConformance::Answer StoreConformance::take(const std::vector<Charge>& charges, Instant now) {
  Answer answer;
  answer.decisions.resize(charges.size());
  Bundle bundle{charges, answer.decisions};
  std::atomic<int> completions{0};
  std::optional<Instant> at = now;
  store_->take({&bundle, 1}, at,
               {[](void* context) noexcept {
                  auto* count = static_cast<std::atomic<int>*>(context);
                  count->fetch_add(1);
                  count->notify_all();
                },
                &completions});
  completions.wait(0);
  EXPECT_EQ(completions.load(), 1);
  answer.admitted = bundle.admitted;
  return answer;
}

Decision StoreConformance::spend(const Law& law, const std::string& key, std::uint64_t cost,
                                 Instant now) {
  return take({{&law, key, cost}}, now).decisions[0];
}

TEST_P(StoreConformance, DecidesAsTheVectorsSay) {
  std::size_t steps = 0;
  for (const char* name :
       {"linear_lenient", "linear_strict", "linear_penalty", "exponential_lenient",
        "exponential_strict", "fixed_window", "fixed_window_aligned", "fixed_window_count_denied",
        "moving_window_log", "sliding_window_counter", "sliding_window_counter_clock",
        "concurrency", "linear_bucket", "widest_spans"}) {
    for (const limit::vectors::Sequence& sequence : limit::vectors::load(name)) {
      const Law the_law = limit::make_law(sequence.quota, sequence.terms).value();
      for (const limit::vectors::Step& step : sequence.steps) {
        const std::string key = std::string(name) + "/" + sequence.id + "/" + step.key;
        const Answer got = take({{&the_law, key, step.cost, step.op}}, step.at);
        ASSERT_EQ(got.admitted, got.decisions[0].admitted);
        ASSERT_EQ(limit::vectors::fault(sequence, sequence.terms, step, got.decisions[0]), "")
            << key;
        ++steps;
      }
    }
  }
  EXPECT_GT(steps, 5000u);
}

TEST_P(StoreConformance, TakesAllOrNoneAsTheVectorsSay) {
  const auto sequences = limit::vectors::load_sets();
  EXPECT_GE(sequences.size(), 3u);
  for (const limit::vectors::SetSequence& sequence : sequences) {
    std::vector<Law> laws;
    std::vector<std::string> keys;
    for (const limit::vectors::Member& member : sequence.members) {
      laws.push_back(limit::make_law(member.quota, member.terms).value());
      keys.push_back(sequence.id + "/" + member.name);
    }
    for (const limit::vectors::SetStep& step : sequence.steps) {
      std::vector<Charge> charges;
      for (std::size_t i = 0; i < laws.size(); ++i) {
        charges.push_back({&laws[i], keys[i], step.parts[i].cost});
      }
      const Answer got = take(charges, step.at);
      ASSERT_EQ(got.admitted, step.allowed) << sequence.id;
      for (std::size_t i = 0; i < laws.size(); ++i) {
        ASSERT_EQ(got.decisions[i].remaining, step.parts[i].r) << keys[i];
        ASSERT_EQ(got.decisions[i].reset, step.parts[i].t) << keys[i];
        ASSERT_EQ(!got.decisions[i].admitted, step.parts[i].violated) << keys[i];
      }
    }
  }
}

TEST_P(StoreConformance, ARefundOfTheLargestCostGivesAllBack) {
  const limit::Terms long_penalty{.denied = Denied::penalty, .penalty = 3600 * second};
  const Law laws[] = {narrow,
                      wide,
                      moving,
                      law(10, 10 * second, long_penalty),
                      law(7, 10 * second, long_penalty),
                      law(7, 10 * second, {.algorithm = limit::Algorithm::fixed_window})};
  for (const Law& the_law : laws) {
    const std::string key = "all" + std::to_string(&the_law - laws);
    for (int i = 0; i < 12; ++i) spend(the_law, key, 1, noon);
    EXPECT_FALSE(spend(the_law, key, 1, noon).admitted) << key;
    take({{&the_law, key, limit::Quota::cost_max, Op::refund}}, noon);
    EXPECT_TRUE(spend(the_law, key, 7, noon).admitted) << key;
  }
}

// Of every law under which a key can owe more than that.
TEST_P(StoreConformance, ARefundOfTheLargestCostGivesAllBackOfTheLargestQuota) {
  constexpr std::uint64_t quota = limit::Quota::units_max;
  for (const limit::Terms& terms :
       {limit::Terms{.late = true}, limit::Terms{.denied = Denied::spend},
        limit::Terms{.denied = Denied::penalty, .penalty = 3600 * second},
        limit::Terms{.algorithm = limit::Algorithm::exponential, .late = true},
        limit::Terms{.denied = Denied::spend, .algorithm = limit::Algorithm::exponential},
        limit::Terms{.algorithm = limit::Algorithm::fixed_window, .late = true},
        limit::Terms{.denied = Denied::spend, .algorithm = limit::Algorithm::fixed_window},
        limit::Terms{.algorithm = limit::Algorithm::moving_window, .late = true},
        limit::Terms{.algorithm = limit::Algorithm::sliding_window_counter, .late = true}}) {
    const Law the_law = law(quota, Nanos{quota} * 1000, terms);
    const std::string key = std::to_string(the_law.index()) + (terms.late ? "late" : "") +
                            std::to_string(static_cast<int>(terms.denied));
    for (int i = 0; i < 3; ++i) spend(the_law, key, quota, noon);
    for (int i = 0; i < 2; ++i) take({{&the_law, key, quota, Op::debit}}, noon);
    EXPECT_FALSE(spend(the_law, key, 1, noon).admitted) << key;
    const Answer all = take({{&the_law, key, limit::Quota::cost_max, Op::refund}}, noon);
    EXPECT_EQ(all.decisions[0].remaining, quota) << key;
    EXPECT_TRUE(spend(the_law, key, quota, noon).admitted) << key;
  }
}

// A count that would be more than 2^64 - 1 stays there.
TEST_P(StoreConformance, AFixedWindowThatCountsDenialsIsFullUntilItEnds) {
  const Law counts =
      law(5, 10 * second, {.denied = Denied::spend, .algorithm = limit::Algorithm::fixed_window});
  for (int i = 0; i < 2; ++i) spend(counts, "k", ~std::uint64_t{0}, noon);
  for (const std::uint64_t cost : {0, 1, 5}) {
    const Decision d = spend(counts, "k", cost, noon);
    EXPECT_FALSE(d.admitted) << cost;
    EXPECT_EQ(d.reset, 10u) << cost;
    EXPECT_EQ(d.wait, 10 * second) << cost;
  }
}

TEST_P(StoreConformance, KeysAreIndependent) {
  for (const Law* the_law : {&narrow, &wide}) {
    EXPECT_TRUE(spend(*the_law, "a", 7, noon).admitted);
    EXPECT_EQ(spend(*the_law, "b", 0, noon).remaining, the_law == &narrow ? 10u : 7u);
    EXPECT_EQ(spend(*the_law, std::string("a\0", 2), 0, noon).remaining,
              the_law == &narrow ? 10u : 7u);
    store_ = GetParam().make();
  }
}

TEST_P(StoreConformance, APeekTakesNothing) {
  for (const Law* the_law : {&narrow, &wide}) {
    const std::string key = the_law == &narrow ? "n" : "w";
    EXPECT_TRUE(spend(*the_law, key, 5, noon).admitted);
    const Decision spent = take({{the_law, key, 2, Op::peek}}, noon).decisions[0];
    EXPECT_EQ(take({{the_law, key, 2, Op::peek}}, noon).decisions[0], spent);
    EXPECT_EQ(spend(*the_law, key, 2, noon), spent);
    EXPECT_FALSE(take({{the_law, key, 7, Op::peek}}, noon).admitted);
    EXPECT_TRUE(take({{the_law, key, 0, Op::peek}}, noon).admitted)
        << "a peek of cost 0 is never denied";
  }
}

TEST_P(StoreConformance, ARefundGivesBack) {
  for (const Law* the_law : {&narrow, &wide}) {
    const std::string key = the_law == &narrow ? "n" : "w";
    const std::uint64_t quota = the_law == &narrow ? 10 : 7;
    EXPECT_EQ(take({{the_law, key, 3, Op::refund}}, noon).decisions[0].remaining, quota)
        << "of a new key";
    EXPECT_TRUE(spend(*the_law, key, quota, noon).admitted);
    EXPECT_EQ(take({{the_law, key, 3, Op::refund}}, noon).decisions[0].remaining, 3u);
    EXPECT_TRUE(spend(*the_law, key, 3, noon).admitted);
    EXPECT_FALSE(spend(*the_law, key, 1, noon).admitted);
    EXPECT_EQ(take({{the_law, key, 1000, Op::refund}}, noon).decisions[0].remaining, quota);
  }
}

TEST_P(StoreConformance, OneDenialTakesNothingFromTheOthers) {
  const Law small = law(1, second);
  const std::vector<Charge> both{{&narrow, "n", 2}, {&small, "s", 1}, {&wide, "w", 2}};
  EXPECT_TRUE(take(both, noon).admitted);
  const Answer denied = take(both, noon);
  EXPECT_FALSE(denied.admitted);
  EXPECT_TRUE(denied.decisions[0].admitted);
  EXPECT_FALSE(denied.decisions[1].admitted);
  EXPECT_TRUE(denied.decisions[2].admitted);
  EXPECT_EQ(denied.decisions[0].remaining, 8u);
  EXPECT_EQ(denied.decisions[2].remaining, 5u);
  EXPECT_EQ(spend(narrow, "n", 0, noon).remaining, 8u);
  EXPECT_EQ(spend(wide, "w", 0, noon).remaining, 5u);
}

TEST_P(StoreConformance, ADenialShowsWhatIsLeftToPeeks) {
  const Law small = law(1, second);
  for (const Law* the_law : {&narrow, &wide, &moving}) {
    const std::string key = the_law == &narrow ? "n" : the_law == &wide ? "w" : "m";
    const std::uint64_t quota = the_law == &narrow ? 10 : 7;
    const std::string other = "small beside " + key;
    EXPECT_EQ(take({{the_law, key, 1, Op::peek}, {&small, other, 1}}, noon).decisions[0].remaining,
              quota - 1);
    const Answer denied = take({{the_law, key, 1, Op::peek}, {&small, other, 1}}, noon);
    EXPECT_FALSE(denied.admitted);
    EXPECT_TRUE(denied.decisions[0].admitted);
    EXPECT_EQ(denied.decisions[0].remaining, quota);
    const Answer too_much = take({{the_law, key, quota + 1, Op::peek}, {&small, other, 1}}, noon);
    EXPECT_FALSE(too_much.decisions[0].admitted);
    EXPECT_EQ(too_much.decisions[0].remaining, quota);
  }
}

TEST_P(StoreConformance, ADenialCostsWhatItsOwnPolicySays) {
  const Law strict = law(1, second, {.denied = Denied::spend});
  const Law other_strict = law(10, 10 * second, {.denied = Denied::spend});
  const std::vector<Charge> both{{&strict, "s", 1}, {&other_strict, "o", 1}};
  EXPECT_TRUE(take(both, noon).admitted);
  EXPECT_FALSE(take(both, noon).admitted);
  EXPECT_EQ(spend(other_strict, "o", 0, noon).remaining, 9u) << "it did not deny";
  EXPECT_GT(take({{&strict, "s", 1, Op::peek}}, noon).decisions[0].wait, second) << "it did";
}

TEST_P(StoreConformance, ACostAboveTheQuotaIsNeverChargedAndNeverAdmitted) {
  for (const Law* the_law : {&narrow, &wide}) {
    const std::string key = the_law == &narrow ? "n" : "w";
    const Decision d = spend(*the_law, key, 11, noon);
    EXPECT_FALSE(d.admitted);
    EXPECT_EQ(d.wait, Decision::never);
    EXPECT_EQ(d.reset, Decision::no_reset);
    EXPECT_EQ(d.remaining, the_law == &narrow ? 10u : 7u);
  }
  const Law closed = law(0, second);
  EXPECT_FALSE(spend(closed, "c", 1, noon).admitted);
  EXPECT_TRUE(spend(closed, "c", 0, noon).admitted);
}

TEST_P(StoreConformance, WithoutATimeItDecidesByItsOwnClock) {
  const std::vector<Charge> charges{Charge{&narrow, "k", 1}, Charge{&wide, "w", 1}};
  std::vector<Decision> decisions(charges.size());
  Bundle bundle{charges, decisions};
  struct Seen {
    std::optional<Instant> now;
    std::atomic<bool> set_before_completion{false};
    std::atomic<bool> done{false};
  } seen;
  const Instant before = store_->now();
  store_->take({&bundle, 1}, seen.now,
               {[](void* context) noexcept {
                  auto* at = static_cast<Seen*>(context);
                  at->set_before_completion = at->now.has_value();
                  at->done = true;
                  at->done.notify_all();
                },
                &seen});
  seen.done.wait(false);
  ASSERT_TRUE(seen.set_before_completion);
  EXPECT_GE(*seen.now, before);
  EXPECT_LE(*seen.now, store_->now());
  // The unit is back an interval after that moment.
  const auto left = [&](Nanos later) {
    const Instant at{seen.now->ns + later};
    return take({Charge{&narrow, "k", 0, Op::peek}}, at).decisions[0].remaining;
  };
  EXPECT_EQ(left(second - 1), 9u);
  EXPECT_EQ(left(second), 10u);
}

TEST_P(StoreConformance, APrefetchDoesNotChangeDecisions) {
  for (const Law& law : {narrow, wide, moving}) {
    for (int i = 0; i < 12; ++i) {
      const Instant now{noon.ns + i * second / 3};
      std::vector<Charge> charges{{&law, "prefetched"}, {&law, "and a second key", 2}};
      store_->prefetch(charges);
      store_->prefetch(charges);
      const Answer prefetched = take(charges, now);
      const Answer other = take({{&law, "not prefetched"}, {&law, "another second key", 2}}, now);
      EXPECT_EQ(prefetched.decisions, other.decisions) << i;
      EXPECT_EQ(prefetched.admitted, other.admitted) << i;
    }
  }
}

TEST_P(StoreConformance, BundlesOfOneCallAreDecidedInOrder) {
  constexpr std::size_t count = 200;
  std::vector<Charge> charges(count, Charge{&narrow, "k", 1});
  std::vector<Decision> decisions(count);
  std::vector<Bundle> bundles;
  for (std::size_t i = 0; i < count; ++i) bundles.push_back({{&charges[i], 1}, {&decisions[i], 1}});
  std::atomic<bool> done{false};
  std::optional<Instant> at = noon;
  store_->take(bundles, at,
               {[](void* flag) noexcept {
                  static_cast<std::atomic<bool>*>(flag)->store(true);
                  static_cast<std::atomic<bool>*>(flag)->notify_all();
                },
                &done});
  done.wait(false);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(bundles[i].admitted, i < 10) << i;
    EXPECT_EQ(decisions[i].remaining, i < 10 ? 9 - i : 0) << i;
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LawConformance);
TEST_P(LawConformance, WindowsEndWithTheirDays) {
  constexpr Nanos hour = 3600 * second;
  constexpr std::int64_t midnight = 20'000 * 86'400;
  // Clocks are put forward at three, so the day has 23 hours.
  const limit::Calendar days(limit::CalendarUnit::day, "", {{0, 0}, {midnight + 3 * 3600, 3600}});
  const Law daily =
      law(5, 24 * hour,
          {.algorithm = limit::Algorithm::fixed_window, .aligned = true, .calendar = &days});
  const Instant at{midnight * second + hour};
  const Instant end{midnight * second + 23 * hour};
  EXPECT_EQ(spend(daily, "k", 5, at).reset, 22u * 3600);
  const Decision denied = spend(daily, "k", 1, at);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.wait, 22 * hour);
  EXPECT_FALSE(spend(daily, "k", 1, Instant{end.ns - 1}).admitted);
  EXPECT_TRUE(spend(daily, "k", 4, end).admitted);
  EXPECT_EQ(spend(daily, "k", 2, end).wait, 24 * hour);
}

TEST_P(LawConformance, WhatComesSoonIsTakenAhead) {
  const limit::Terms fixed{.algorithm = limit::Algorithm::fixed_window};
  for (const auto& [quota, terms] :
       {std::pair{10u, limit::Terms()}, {7u, limit::Terms()}, {5u, fixed}}) {
    limit::Terms ahead = terms;
    ahead.delay = 10 * second;
    const Law denies = law(quota, 10 * second, ahead);
    ahead.waits = true;
    const Law waits = law(quota, 10 * second, ahead);
    const std::string key = "ahead" + std::to_string(quota);
    limit::KeyState model;
    Instant now = noon;
    for (int i = 0; i < 30; ++i) {
      const Law& one = i % 3 == 2 ? denies : waits;
      ASSERT_EQ(spend(one, key, 1 + i % 2, now), model.spend(one, 1 + i % 2, now))
          << key << ", request " << i;
      now.ns += second / 4;
    }
    // With another law that denies, nothing is taken ahead.
    const Law closed = limit::Closed{};
    const Answer denied = take({{&waits, key, 1}, {&closed, key + "c", 1}}, now);
    EXPECT_FALSE(denied.admitted);
    ASSERT_EQ(spend(waits, key, 1, now), model.spend(waits, 1, now));
    const Answer both = take({{&waits, key, 1}, {&narrow, key + "n", 1}}, now);
    const Decision alone = model.spend(waits, 1, now);
    EXPECT_EQ(both.admitted, alone.admitted);
    EXPECT_EQ(both.decisions[0].wait, alone.wait);
  }
}

// A spend of 0 is denied while denials have put the key in debt, also beside another denial:
// a client that comes back after the longest wait is admitted.
TEST_P(StoreConformance, ADebtDeniesACostOfNothingBesideOtherDenials) {
  const limit::Terms penalty{.denied = Denied::penalty, .penalty = 60 * second};
  const limit::Terms counts{.denied = Denied::spend, .algorithm = limit::Algorithm::fixed_window};
  const limit::Terms rate{.denied = Denied::spend, .algorithm = limit::Algorithm::exponential};
  const Law once = law(1, 5 * second);
  for (const auto& [quota, terms] :
       {std::pair{1u, penalty}, {7u, penalty}, {3u, counts}, {3u, rate}}) {
    const Law debt = law(quota, 10 * second, terms);
    const std::string key =
        "debt" + std::to_string(quota) + std::to_string(static_cast<int>(terms.algorithm));
    for (unsigned i = 0; i < 2 * quota + 2; ++i) spend(debt, key, 1, noon);
    const std::string other = key + "/once";
    spend(once, other, 1, noon);
    const Decision alone = spend(debt, key, 0, noon);
    ASSERT_FALSE(alone.admitted) << key;
    for (const bool first : {false, true}) {
      std::vector<Charge> charges{{&once, other, 1}, {&debt, key, 0}};
      if (first) std::swap(charges[0], charges[1]);
      const Answer got = take(charges, noon);
      EXPECT_FALSE(got.admitted);
      EXPECT_EQ(got.decisions[first ? 0 : 1], alone) << key;
      EXPECT_EQ(got.decisions[first ? 1 : 0].wait, 5 * second);
    }
  }
}

TEST_P(StoreConformance, ACostOfNothingThatAnotherPolicyDeniesEndsNoDebt) {
  const Law owing = law(6, 6 * second, {.denied = Denied::spend});
  const Law closed = law(0, second);
  for (const bool beside : {false, true}) {
    const std::string key = beside ? "beside" : "alone";
    EXPECT_TRUE(spend(owing, key, 6, noon).admitted);
    EXPECT_FALSE(spend(owing, key, 1, noon).admitted);
    if (beside) {
      EXPECT_FALSE(take({{&owing, key, 0}, {&closed, "c", 1}}, noon).admitted);
    }
    EXPECT_FALSE(take({{&owing, key, 1, Op::peek}}, {noon.ns + second}).admitted) << key;
  }
}

TEST_P(StoreConformance, AChangedQuotaKeepsTheTimeThatWasSpent) {
  // 6 of 10 s are spent; the cells count in whole nanoseconds, in sevenths and in thirteenths.
  const Law before = law(10, 10 * second);
  EXPECT_TRUE(spend(before, "k", 6, noon).admitted);
  EXPECT_EQ(spend(law(5, 10 * second), "k", 0, noon).remaining, 2u);
  EXPECT_EQ(take({{&wide, "k", 0, Op::peek}}, noon).decisions[0].remaining, 2u) << "of 7";
  EXPECT_TRUE(spend(wide, "k", 1, noon).admitted);
  EXPECT_EQ(spend(law(13, 10 * second), "k", 1, noon).remaining, 2u)
      << "of 13, after 6/10, 1/7, 1/13";
  EXPECT_EQ(spend(before, "k", 0, noon).remaining, 1u);
  EXPECT_EQ(spend(law(1000, second), "k", 0, noon).remaining, 0u) << "8 s are owed, of 1 s";
  EXPECT_EQ(spend(law(1000, second), "k", 0, {noon.ns + second}).remaining, 1000u)
      << "no debt is longer than the new window";
}

TEST_P(StoreConformance, AFullDebtIsOneUnderEveryOtherQuota) {
  // CL.THROTTLE k 999999 1 13000 1000000, and then k 4 7 1: the quota is full again 2^63 to 2^64 ns
  // after its use, which is too late for 64 bits.
  const Law slow = law(1'000'000, 1'000'000 * (13'000 * second));
  const Law fast = law(5, 5 * (second / 7));
  EXPECT_TRUE(spend(slow, "k", 1'000'000, noon).admitted);
  const Decision denied = spend(fast, "k", 1, noon);
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.remaining, 0u);
  EXPECT_EQ(denied.wait, second / 7) << "no debt is longer than the new window";

  // The same between two fractions of a nanosecond: 2^79 ns are too late for 120 bits of the other.
  const Law slower = law(3, Nanos{1} << 79);
  const Law finer = law(999'999'999'999'989, second);
  EXPECT_TRUE(spend(slower, "j", 3, noon).admitted);
  EXPECT_EQ(spend(finer, "j", 1, noon).remaining, 0u);
}

// One key under rates as callers of CL.THROTTLE choose them. What a decision leaves says when the
// quota is full at the earliest, and under no other rate may more units be there than that allows.
TEST_P(StoreConformance, NoOrderOfQuotasGivesUnitsThatNoneOfThemGives) {
  std::mt19937_64 dice(5);
  const auto below = [&](std::uint64_t end) { return dice() % end; };
  const auto up_to_the_power = [&](unsigned bits) {
    return 1 + (dice() >> (64 - 1 - below(bits)));
  };
  for (int history = 0; history < 500; ++history) {
    const std::string key = "k" + std::to_string(history);
    Instant now = noon;
    Nanos full_after = 0;  // the quota is full later than that
    for (int step = 0; step < 20; ++step) {
      now.ns += below(2) == 0 ? 0 : static_cast<Nanos>(up_to_the_power(56));
      const std::uint64_t quota = up_to_the_power(20);
      const Nanos interval = static_cast<Nanos>(up_to_the_power(44));
      const Nanos part = below(2) == 0 ? 0 : static_cast<Nanos>(below(quota));
      const Nanos window = static_cast<Nanos>(quota) * interval + part;
      const std::uint64_t cost = below(2) == 0 ? quota : 1 + below(quota);
      const Decision d = spend(law(quota, window), key, cost, now);
      const std::uint64_t units = d.remaining + (d.admitted ? cost : 0);
      if (units > 0) {
        ASSERT_LE(static_cast<Nanos>(units) * window,
                  static_cast<Nanos>(quota) * (now.ns + window - full_after))
            << "history " << history << ", step " << step << ": " << quota << " units per "
            << static_cast<double>(window) << " ns";
      }
      const auto more = static_cast<Nanos>(d.remaining + 1);
      full_after = now.ns + window - ceil_div(more * window, static_cast<Nanos>(quota));
      full_after = std::max(full_after, now.ns - 1);
    }
  }
}

TEST_P(StoreConformance, ThreadsTakeExactlyTheQuota) {
  constexpr int threads = 4;
  constexpr int rounds = 200;
  const Law quota_97 = law(97, 97 * second);
  const Law quota_60 = law(60, 7 * second);
  std::atomic<std::uint64_t> admitted{0};
  std::barrier round_begins(threads);
  std::barrier round_ends(threads, [&]() noexcept {
    EXPECT_EQ(admitted.load(), 60u);
    admitted.store(0);
  });
  const auto work = [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      const std::string a = "a" + std::to_string(round);
      const std::string b = "b" + std::to_string(round);
      round_begins.arrive_and_wait();
      for (int i = 0; i < 40; ++i) {
        std::vector<Charge> charges{{&quota_97, a, 1}, {&quota_60, b, 1}};
        if (thread % 2 == 1) std::swap(charges[0], charges[1]);
        if (take(charges, noon).admitted) admitted.fetch_add(1);
      }
      round_ends.arrive_and_wait();
    }
  };
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work, i);
  for (std::thread& thread : pool) thread.join();
}

}  // namespace headgate::store
