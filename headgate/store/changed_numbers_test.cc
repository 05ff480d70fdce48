// What a key has after a reload or an override has changed its policy's quota or window: what the
// fields say stays true, and a look changes nothing.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "headgate/store/table.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Denied;
using limit::Law;
using limit::Op;
using limit::Reset;
using limit::Terms;

constexpr Nanos second = nanos_per_second;

// A clock that stands, at 2023-11-14 22:00:00 UTC: a whole hour, and the table's time is one hour.
constexpr std::int64_t wall = 1'699'999'200LL * 1'000'000'000;
constexpr ClockSource stands{[]() noexcept { return std::int64_t{0}; },
                             []() noexcept { return wall; },
                             []() noexcept { return std::array<char, 16>{"boot"}; }};

struct Step {
  const Law* law;
  Op op;
  std::uint64_t cost;
  Nanos at;  // since that hour [ns]
};

class ChangedNumbers : public testing::Test {
 protected:
  const Law& law(std::uint64_t quota, Nanos window, const Terms& terms) {
    return *laws_.emplace_back(
        std::make_unique<Law>(limit::make_law({quota, window}, terms).value()));
  }
  // The decision on the last step of a key of its own.
  Decision after(std::vector<Step> steps, const Step& last) {
    const std::string key = std::to_string(keys_++);
    steps.push_back(last);
    Decision decision;
    for (const Step& step : steps) {
      const Charge charge{step.law, key, step.cost, step.op};
      Bundle bundle{{&charge, 1}, {&decision, 1}};
      table_->take({&bundle, 1}, Instant{begin_ + step.at}, {});
    }
    return decision;
  }

 private:
  std::unique_ptr<Table> table_ =
      Table::open({.memory = std::size_t{4} << 20, .ledger_share = 40, .clock = &stands}).value();
  const Nanos begin_ = table_->now().ns;
  std::vector<std::unique_ptr<Law>> laws_;
  int keys_ = 0;
};

TEST_F(ChangedNumbers, AlignedWindowsStartAtMultiplesOfTheNewWindow) {
  const Terms terms{.algorithm = Algorithm::fixed_window, .aligned = true};
  const Law& brief = law(10, 600 * second, terms);
  const Law& longer = law(10, 720 * second, terms);
  const std::vector<Step> spent{{&brief, Op::spend, 10, 659 * second}};
  const Decision denied = after(spent, {&longer, Op::spend, 1, 660 * second});
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.retry_after(), 60u);
  EXPECT_TRUE(after(spent, {&longer, Op::spend, 1, 720 * second}).admitted);
}

TEST_F(ChangedNumbers, WhatIsAdmittedAfterwardsDoesNotMoveAnAlignedWindow) {
  const Terms terms{.reset = Reset::window, .algorithm = Algorithm::fixed_window, .aligned = true};
  const Law& longer = law(5, 60 * second, terms);
  const std::vector<Step> steps{{&law(5, 10 * second, terms), Op::spend, 4, 52 * second},
                                {&longer, Op::spend, 1, 53 * second}};
  const Decision denied = after(steps, {&longer, Op::spend, 1, 53 * second});
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.retry_after(), 7u);
  EXPECT_TRUE(after(steps, {&longer, Op::spend, 5, 60 * second}).admitted);
}

TEST_F(ChangedNumbers, AnAlignedBucketHasWhatBothOfTheBucketsInItHad) {
  const Terms terms{.algorithm = Algorithm::sliding_window_counter, .aligned = true};
  const Law& brief = law(5, 10 * second, terms);
  const Law& longer = law(5, 60 * second, terms);
  const std::vector<Step> steps{{&brief, Op::spend, 2, 48 * second},
                                {&brief, Op::spend, 1, 52 * second}};
  EXPECT_EQ(after(steps, {&longer, Op::peek, 0, 53 * second}).remaining, 2u);
}

TEST_F(ChangedNumbers, ThePaceIsThatOfTheNewNumbers) {
  const Terms terms{.algorithm = Algorithm::fixed_window};
  const std::vector<Step> steps{{&law(5, 3 * second, terms), Op::spend, 4, 0}};
  const Decision seen = after(steps, {&law(5, 100 * second, terms), Op::peek, 0, second});
  EXPECT_EQ(seen.remaining, 1u);
  EXPECT_EQ(seen.reset, 20u);
}

TEST_F(ChangedNumbers, ALongerWindowCountsFromTheNextUnitOn) {
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::sliding_window_counter,
                                    Algorithm::moving_window, Algorithm::exponential}) {
    const Law& longer = law(5, 100 * second, {.algorithm = algorithm});
    std::vector<Step> steps{{&law(5, 3 * second, {.algorithm = algorithm}), Op::spend, 3, 0}};
    EXPECT_EQ(after(steps, {&longer, Op::peek, 0, 20 * second}).remaining, 5u);
    steps.push_back({&longer, Op::spend, 1, second});
    EXPECT_LT(after(steps, {&longer, Op::peek, 0, 20 * second}).remaining, 4u);
  }
}

TEST_F(ChangedNumbers, ALookUnderAShorterWindowTakesNothingFromTheFormerOne) {
  for (const Algorithm algorithm :
       {Algorithm::fixed_window, Algorithm::sliding_window_counter, Algorithm::moving_window,
        Algorithm::exponential, Algorithm::concurrency}) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    const auto of = [&](Nanos window) -> const Law& {
      return law(5, window, {.algorithm = algorithm, .lease = window});
    };
    const Law& former = of(3600 * second);
    const Law& shorter = of(2 * second);
    std::vector<Step> steps{{&former, Op::spend, 2, 0}, {&former, Op::spend, 3, second}};
    steps.push_back({&shorter, Op::spend, 5, second});
    steps.push_back({&shorter, Op::peek, 0, second});
    EXPECT_FALSE(after(steps, {&former, Op::spend, 1, 5 * second}).admitted);
  }
}

TEST_F(ChangedNumbers, AnAlignedWindowThatIsNoLongerAlignedEndsWhenItWouldHaveEnded) {
  const Terms terms{.algorithm = Algorithm::fixed_window};
  const Law& aligned = law(5, 60 * second, {.algorithm = Algorithm::fixed_window, .aligned = true});
  const std::vector<Step> steps{{&aligned, Op::spend, 5, 50 * second}};
  const Decision denied = after(steps, {&law(5, 60 * second, terms), Op::spend, 1, 52 * second});
  EXPECT_FALSE(denied.admitted);
  EXPECT_EQ(denied.retry_after(), 8u);
  EXPECT_TRUE(after(steps, {&law(5, 60 * second, terms), Op::spend, 5, 60 * second}).admitted);
}

TEST_F(ChangedNumbers, AWindowThatBecomesAlignedIsOver) {
  const Terms terms{.algorithm = Algorithm::fixed_window};
  const Law& aligned = law(5, 60 * second, {.algorithm = Algorithm::fixed_window, .aligned = true});
  const std::vector<Step> steps{{&law(5, 60 * second, terms), Op::spend, 5, 50 * second}};
  EXPECT_TRUE(after(steps, {&aligned, Op::spend, 5, 52 * second}).admitted);
}

struct Kind {
  const char* name;
  Terms terms;
  Nanos exact = 1;  // a denial's wait is the least number of these [ns]
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

// A denial's wait, as tried out by keys of the same history.
void expect_exact(const auto& after, const std::vector<Step>& steps, const Step& look,
                  const Decision& denied, const Kind& kind) {
  std::vector<Step> seen = steps;
  seen.push_back(look);
  Step again = look;
  again.at += denied.wait;
  EXPECT_TRUE(after(seen, again).admitted) << "when the wait is over";
  EXPECT_TRUE(after(steps, again).admitted) << "when the wait is over, if nobody looked";
  again.at = look.at + static_cast<Nanos>(denied.reset) * second;
  EXPECT_TRUE(after(seen, again).admitted) << "after t seconds";
  again.at = look.at + denied.wait - kind.exact;
  if (again.at <= look.at) return;
  EXPECT_FALSE(after(seen, again).admitted) << "before the wait is over";
  if (kind.terms.denied == Denied::free) {
    EXPECT_FALSE(after(steps, again).admitted) << "before the wait is over, if nobody looked";
  }
}

// What a peek says, as tried out by keys of the same history.
void expect_honest(const auto& after, const std::vector<Step>& steps, const Step& look,
                   const Decision& peeked, std::uint64_t quota) {
  std::vector<Step> seen = steps;
  seen.push_back(look);
  const std::uint64_t r = peeked.remaining;
  const Nanos end = look.at + static_cast<Nanos>(peeked.reset) * second;
  for (const std::vector<Step>& before : {steps, seen}) {
    if (r > 0) {  // where denials cost, a request of 0 may be denied
      EXPECT_TRUE(after(before, {look.law, Op::spend, r, look.at}).admitted);
      EXPECT_TRUE(after(before, {look.law, Op::spend, r, end}).admitted);
    }
    if (r == quota) continue;
    EXPECT_GT(after(before, {look.law, Op::peek, 0, end}).remaining, r) << "after t seconds";
    EXPECT_EQ(after(before, {look.law, Op::peek, 0, end - second}).remaining, r)
        << "a second before";
  }
}

class ChangedNumbersOf : public ChangedNumbers, public testing::WithParamInterface<Kind> {};

TEST_P(ChangedNumbersOf, WhatTheFieldsSayStaysTrue) {
  const Kind& kind = GetParam();
  std::mt19937_64 dice(7);
  const auto upto = [&](std::uint64_t most) { return dice() % (most + 1); };
  const auto span = [&](Nanos most) {
    return static_cast<Nanos>(upto(static_cast<std::uint64_t>(most - 1)));
  };
  const auto try_out = [&](std::vector<Step> steps, const Step& last) {
    return after(std::move(steps), last);
  };
  int denials = 0;
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const auto draw = [&]() -> std::pair<std::uint64_t, Nanos> {
      constexpr Nanos windows[] = {second / 4,  second,      3 * second,  10 * second,
                                   45 * second, 60 * second, 600 * second};
      return {1 + upto(8), windows[upto(6)]};
    };
    const auto [old_quota, old_window] = draw();
    const auto [quota, window] = draw();
    const Law& old_law = law(old_quota, old_window, kind.terms);
    const Law& new_law = law(quota, window, kind.terms);
    SCOPED_TRACE(std::to_string(trial) + ": " + std::to_string(old_quota) + " per " +
                 std::to_string(static_cast<double>(old_window) / 1e9) + " s, then " +
                 std::to_string(quota) + " per " +
                 std::to_string(static_cast<double>(window) / 1e9));
    Nanos at = span(3600 * second);
    std::vector<Step> steps;
    for (std::uint64_t i = upto(6); i > 0; --i) {
      const Op op = upto(4) == 0 ? Op::refund : kind.terms.late ? Op::debit : Op::spend;
      steps.push_back({&old_law, op, 1 + upto(2), at});
      at += span(old_window);
    }
    for (std::uint64_t i = upto(2); i > 0; --i) {
      steps.push_back({&new_law, Op::spend, 1, at});
      at += span(upto(1) > 0 ? window : old_window);
    }
    const Step peek{&new_law, Op::peek, 0, at};
    expect_honest(try_out, steps, peek, after(steps, peek), quota);
    const Step request{&new_law, Op::spend, 1 + upto(quota - 1), at};
    const Decision decision = after(steps, request);
    if (decision.admitted) continue;
    ++denials;
    expect_exact(try_out, steps, request, decision, kind);
  }
  EXPECT_GT(denials, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Laws, ChangedNumbersOf,
    testing::Values(
        Kind{"exponential", {.reset = Reset::next, .algorithm = Algorithm::exponential}, second},
        Kind{"fixed_window", {.reset = Reset::next, .algorithm = Algorithm::fixed_window}},
        Kind{"fixed_window_that_counts_denials",
             {.denied = Denied::spend, .reset = Reset::next, .algorithm = Algorithm::fixed_window}},
        Kind{"fixed_window_with_debts",
             {.reset = Reset::next, .algorithm = Algorithm::fixed_window, .late = true}},
        Kind{"aligned_fixed_window",
             {.reset = Reset::next, .algorithm = Algorithm::fixed_window, .aligned = true}},
        Kind{"sliding_window_counter",
             {.reset = Reset::next, .algorithm = Algorithm::sliding_window_counter}},
        Kind{"aligned_sliding_window_counter",
             {.reset = Reset::next,
              .algorithm = Algorithm::sliding_window_counter,
              .aligned = true}},
        Kind{"moving_window", {.reset = Reset::next, .algorithm = Algorithm::moving_window}},
        Kind{"moving_window_with_debts",
             {.reset = Reset::next, .algorithm = Algorithm::moving_window, .late = true}}),
    [](const auto& the) { return std::string(the.param.name); });

}  // namespace
}  // namespace headgate::store
