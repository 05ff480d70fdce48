// The promises of the moving window: no span of a window's length contains more than the quota,
// also with a log that is too small, with a store without memory, and with refunds.

#include "headgate/limit/moving_window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "headgate/limit/testing/vector_log.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;

struct Spent {
  Instant at;
  std::uint64_t cost;
};

// The units that were spent within the window that ends at `at`.
std::uint64_t units_in_window(const std::vector<Spent>& spent, Instant at, Nanos window) {
  std::uint64_t units = 0;
  for (const Spent& one : spent) {
    if (one.at.ns > at.ns - window && one.at <= at) units += one.cost;
  }
  return units;
}

RC_GTEST_PROP(MovingWindow, NoWindowSeesMoreThanTheQuotaHoweverSmallTheLog, ()) {
  const Quota quota{*rc::gen::inRange<std::uint64_t>(1, 30), 10 * second};
  const auto log_max = *rc::gen::inRange<std::uint32_t>(1, 10);
  const auto law = MovingWindow::make(quota, {.log = log_max}).value();
  VectorLog log(*rc::gen::inRange<std::size_t>(1, 12));  // perhaps less than the law needs
  std::vector<Spent> spent;
  Instant now{0};
  for (int i = 0; i < 60; ++i) {
    now.ns += *rc::gen::inRange<std::int64_t>(0, 2'000'000'000);
    const auto cost = *rc::gen::inRange<std::uint64_t>(0, 6);
    const bool refunds = *rc::gen::inRange(0, 8) == 0;
    if (refunds && !spent.empty()) {
      // Only refunds requests that were made, each at most once.
      const auto which = *rc::gen::inRange<std::size_t>(0, spent.size());
      const bool known = *rc::gen::arbitrary<bool>();
      static_cast<void>(
          law.refund(log, spent[which].cost, now, known ? spent[which].at : Instant{}));
      // If its record has expired, the refund may have given back the units of another request:
      // then this property does not hold any more.
      if (spent[which].at.ns <= now.ns - quota.window) return;
      spent.erase(spent.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (law.spend(log, cost, now).admitted) {
      spent.push_back({now, cost});
    }
    RC_ASSERT(log.size() <= law.log_max());
    for (const Spent& one : spent) {
      RC_ASSERT(units_in_window(spent, one.at, quota.window) <= quota.units);
    }
  }
}

RC_GTEST_PROP(MovingWindow, APeekSaysWhatASpendWouldSayHoweverSmallTheLog, ()) {
  const Quota quota{*rc::gen::inRange<std::uint64_t>(1, 30), 10 * second};
  const auto log_max = *rc::gen::inRange<std::uint32_t>(1, 6);
  const auto reset = *rc::gen::element(Reset::next, Reset::full, Reset::pace);
  const auto law = MovingWindow::make(quota, {.reset = reset, .log = log_max}).value();
  VectorLog log;
  Instant now{0};
  for (int i = 0; i < 40; ++i) {
    now.ns +=
        *rc::gen::inRange<std::int64_t>(0, 2) * *rc::gen::inRange<std::int64_t>(0, 2 * second);
    const auto cost = *rc::gen::inRange<std::uint64_t>(1, 6);
    const std::size_t records = log.size();
    const Decision peeked = law.peek(log, cost, now);
    RC_ASSERT(log.size() <= records);
    RC_ASSERT(peeked == law.spend(log, cost, now));
  }
}

TEST(MovingWindow, AFullLogMergesTheClosestIntoTheLater) {
  const auto law = MovingWindow::make({10, 60 * second}, {.log = 3}).value();
  VectorLog log;
  for (const int at : {0, 20, 21, 50}) {
    EXPECT_TRUE(law.spend(log, 1, Instant{at * second}).admitted);
  }
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log.get(0), (Record{0, 1}));
  EXPECT_EQ(log.get(1), (Record{static_cast<std::int64_t>(21 * second), 2}));
  EXPECT_EQ(log.get(2), (Record{static_cast<std::int64_t>(50 * second), 1}));
  EXPECT_EQ(log.merges(), 1u) << "and it is counted";
}

TEST(MovingWindow, ManyRequestsAtOneMomentAreOneRecord) {
  const auto law = MovingWindow::make({1000, 60 * second}, {}).value();
  VectorLog log;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(law.spend(log, 1, Instant{5}).admitted);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_EQ(log.merges(), 0u) << "nothing was lost";
}

TEST(MovingWindow, NeedsNoMoreRecordsThanUnits) {
  EXPECT_EQ(MovingWindow::make({10, second}, {.log = 4096})->log_max(), 10u);
  EXPECT_EQ(MovingWindow::make({10, second}, {.late = true, .log = 4096})->log_max(), 20u);
  EXPECT_EQ(MovingWindow::make({100'000, second}, {.log = 4096})->log_max(), 4096u);
}

TEST(MovingWindow, DecidesWithoutMemory) {
  const auto law = MovingWindow::make({10, 60 * second}, {}).value();
  VectorLog none(0);
  const Decision d = law.spend(none, 4, Instant{});
  EXPECT_TRUE(d.admitted);
  EXPECT_EQ(d.remaining, 6u);
}

TEST(MovingWindow, ARefundGivesBackWhatWasSpentAtThatTime) {
  const auto law = MovingWindow::make({10, 60 * second}, {}).value();
  VectorLog log;
  for (const int at : {10, 20, 30}) {
    static_cast<void>(law.spend(log, 3, Instant{at * second}));
  }
  EXPECT_EQ(law.refund(log, 3, Instant{40 * second}, Instant{20 * second}).remaining, 4u);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log.get(1).time, 30 * second);
  EXPECT_EQ(law.refund(log, 1, Instant{40 * second}).remaining, 5u);
  EXPECT_EQ(log.get(0).cost, 2u) << "the oldest, if the time is unknown";
  EXPECT_EQ(law.refund(log, 100, Instant{40 * second}).remaining, 10u) << "never more than all";
}

TEST(MovingWindow, ADamagedRecordDelaysForNoMoreThanAWindow) {
  const auto law = MovingWindow::make({3, 10 * second}, {}).value();
  VectorLog log;
  for (const int at : {0, 1, 2}) EXPECT_TRUE(law.spend(log, 1, Instant{at * second}).admitted);
  log.set(1, {std::int64_t{1} << 62, 1});
  const Decision d = law.peek(log, 2, Instant{3 * second});
  EXPECT_FALSE(d.admitted);
  EXPECT_EQ(d.reset, 10u);
  EXPECT_EQ(law.peek(log, 0, Instant{10 * second}).remaining, 2u) << "dropped as the oldest";
}

TEST(MovingWindow, RefusesWhatItDoesNotSupport) {
  EXPECT_FALSE(MovingWindow::make({0, second}, {}));
  EXPECT_FALSE(MovingWindow::make({1, 0}, {}));
  EXPECT_FALSE(MovingWindow::make({1, second}, {.log = 0}));
  EXPECT_FALSE(MovingWindow::make({1, second}, {.log = Terms::log_max + 1}));
  EXPECT_FALSE(MovingWindow::make({1, second}, {.denied = Denied::spend}));
  EXPECT_FALSE(MovingWindow::make({Quota::units_max, Quota::window_max}, {})) << "128 bits";
}

}  // namespace
}  // namespace headgate::limit
