// Statistics of one worker at instants that the test chooses.

#include "headgate/view/recent_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "headgate/base/testing/allocations.h"
#include "headgate/gate/table_options.h"
#include "headgate/policy/file/load.h"

namespace headgate::view {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr Nanos second = nanos_per_second;

class RecentStatsTest : public testing::Test {
 protected:
  RecentStatsTest() { load("partition-key: plain\n"); }

  void load(const std::string& settings) {
    const auto policies =
        policy::load_text("version: 1\n" + settings +
                              "policies:\n"
                              "  - {name: burst, quota: 10, window: 1000d}\n"
                              "  - {name: bytes, quota: 1000000, window: 1s, unit: bytes}\n"
                              "  - {name: trial, quota: 1, window: 1000d, mode: shadow}\n",
                          "test.yaml")
            .value();
    if (table == nullptr) {
      auto options = gate::table_options(*policies);
      options.memory = 1 << 20;
      table = store::Table::open(options).value();
      now = table->now();
    }
    labels.reset();
    gate.emplace(policies, *table, table->secret(), std::span<gate::PolicyCounts>());
    labels.emplace(*gate);
  }

  void decide(std::string_view policy, std::string_view key, std::uint64_t cost = 1,
              limit::Op op = limit::Op::spend) {
    const gate::Check check{policy, key, cost};
    ASSERT_FALSE(gate->decide({&check, 1}, op, now, context));
    stats.decided(*labels, context, now);
  }

  // Reads after time has passed without decisions.
  [[nodiscard]] Recent after(Nanos time) {
    now.ns += time;
    return stats.recent(now, *labels);
  }

  std::unique_ptr<store::Table> table;
  std::optional<gate::Gate> gate;
  std::optional<Labels> labels;
  Instant now;
  gate::DecisionContext context;
  RecentStats stats;
};

TEST_F(RecentStatsTest, IsEmptyAtFirst) {
  const Recent recent = after(0);
  EXPECT_EQ(recent.requests, 0);
  EXPECT_THAT(recent.busiest, IsEmpty());
  EXPECT_THAT(recent.most_denied, IsEmpty());
}

TEST_F(RecentStatsTest, ListsTheBusiestAndTheMostDenied) {
  for (int i = 0; i < 30; ++i) decide("burst", "a");
  decide("bytes", "b", 5000);
  const Recent recent = after(2 * second);
  EXPECT_NEAR(recent.requests, 31 / 2.0, 1e-6);
  EXPECT_NEAR(recent.denied, 20 / 2.0, 1e-6);
  EXPECT_EQ(recent.shadow_denied, 0);

  ASSERT_THAT(recent.busiest, SizeIs(2));
  const auto& a = recent.busiest[recent.busiest[0].key == "a" ? 0 : 1];
  EXPECT_EQ(a.policy, "burst");
  EXPECT_NEAR(a.at_least, 15, 1e-6);
  EXPECT_NEAR(a.at_most, 15, 1e-6);
  EXPECT_NEAR(a.also, 5, 1e-6) << "units that were spent: denials spend none";
  const auto& b = recent.busiest[recent.busiest[0].key == "a" ? 1 : 0];
  EXPECT_NEAR(b.also, 2500, 1e-6);

  ASSERT_THAT(recent.most_denied, SizeIs(1));
  EXPECT_EQ(recent.most_denied[0].policy, "burst");
  EXPECT_EQ(recent.most_denied[0].key, "a");
  EXPECT_NEAR(recent.most_denied[0].at_least, 10, 1e-6);
  EXPECT_EQ(recent.most_denied[0].also, 0);
}

TEST_F(RecentStatsTest, CountsShadowDenialsApart) {
  for (int i = 0; i < 5; ++i) decide("trial", "a");
  const Recent recent = after(second);
  EXPECT_EQ(recent.denied, 0);
  EXPECT_NEAR(recent.shadow_denied, 4, 1e-6);
  ASSERT_THAT(recent.most_denied, SizeIs(1));
  EXPECT_NEAR(recent.most_denied[0].also, 4, 1e-6);
}

TEST_F(RecentStatsTest, CountsNeitherPeeksNorRefunds) {
  decide("burst", "a", 1, limit::Op::peek);
  decide("burst", "a", 1, limit::Op::refund);
  EXPECT_EQ(after(second).requests, 0);
}

TEST_F(RecentStatsTest, ForgetsThePast) {
  for (int i = 0; i < 1000; ++i) decide("bytes", "a");
  const double soon = after(2 * second).requests;
  const double later = after(RecentStats::half_life * 10).requests;
  EXPECT_NEAR(soon, 500, 1e-6);
  EXPECT_LT(later, 0.1);
  EXPECT_LT(after(0).busiest[0].at_least, 0.1);
}

// A steady stream is shown at its rate, at any moment, also across halvings.
TEST_F(RecentStatsTest, ShowsTheRateOfASteadyStream) {
  for (int i = 0; i < 1500; ++i) {
    now.ns += second / 10;
    decide("bytes", "a");
    if (i < 20 || i % 7 > 0) continue;
    const Recent recent = after(0);
    ASSERT_NEAR(recent.requests, 10, 0.6) << i;
    ASSERT_NEAR(recent.busiest[0].at_least, 10, 0.6) << i;
  }
}

// The reader does the halvings that a worker without decisions has not done.
TEST_F(RecentStatsTest, ReadersAgeTheCountsOfAnIdleWorker) {
  for (int i = 0; i < 1000; ++i) decide("bytes", "a");
  const double idle = after(5 * static_cast<Nanos>(RecentStats::half_life) + second).requests;
  decide("bytes", "a");
  EXPECT_NEAR(after(0).requests, idle, idle / 10);
}

TEST_F(RecentStatsTest, ShowsNoKeysUnlessThePolicyFileSaysSo) {
  decide("burst", "secret");
  load("");
  EXPECT_THAT(after(0).busiest, IsEmpty()) << "what was listed before is gone";
  decide("burst", "secret");
  const Recent recent = after(0);
  ASSERT_THAT(recent.busiest, SizeIs(1));
  EXPECT_THAT(recent.busiest[0].key, StartsWith(":"));
  EXPECT_EQ(recent.busiest[0].key.find("secret"), std::string::npos);
}

TEST_F(RecentStatsTest, AReloadThatShowsKeysAsBeforeKeepsTheLists) {
  decide("burst", "a");
  load("partition-key: plain\n");
  decide("burst", "b");
  EXPECT_THAT(after(0).busiest, SizeIs(2));
}

// A worker may be killed at any instruction; here it is after a decision.
TEST_F(RecentStatsTest, AnotherProcessContinues) {
  for (int i = 0; i < 30; ++i) decide("burst", "a");
  decide("burst", "b");
  stats.adopt();
  for (int i = 0; i < 10; ++i) decide("burst", "a");
  const Recent recent = after(2 * second);
  EXPECT_NEAR(recent.requests, 41 / 2.0, 1e-6);
  ASSERT_THAT(recent.busiest, SizeIs(2)) << "no key is listed twice";
  const auto& a = recent.busiest[recent.busiest[0].key == "a" ? 0 : 1];
  EXPECT_NEAR(a.at_least, 20, 1e-6);
}

TEST_F(RecentStatsTest, ListsLimitsThatCameWithTheirRequests) {
  stats.decided_alone(*labels, "throttle", "user 1", 3, true, now);
  stats.decided_alone(*labels, "throttle", "user 1", 3, false, now);
  const Recent recent = after(second);
  ASSERT_THAT(recent.busiest, SizeIs(1));
  EXPECT_EQ(recent.busiest[0].policy, "throttle");
  EXPECT_EQ(recent.busiest[0].key, "user 1");
  EXPECT_NEAR(recent.busiest[0].at_least, 2, 1e-6);
  EXPECT_NEAR(recent.busiest[0].also, 3, 1e-6);
  ASSERT_THAT(recent.most_denied, SizeIs(1));
  EXPECT_NEAR(recent.denied, 1, 1e-6);
}

// Under a high load the busiest list is a sample. Its shares are those of the load, whatever
// pattern the requests come in: here every sixteenth is of one key.
TEST_F(RecentStatsTest, ASampleIsUnbiased) {
  static_assert(RecentStats::stride == 16);
  constexpr int requests = 400'000;
  const auto load_for_a_second = [&] {
    for (int i = 0; i < requests; ++i) {
      stats.decided_alone(*labels, "throttle", i % 16 == 0 ? "sixteenth" : "others", 1, true, now);
    }
    now.ns += second;
  };
  load_for_a_second();  // after it the load is known to be high
  load_for_a_second();
  std::map<std::string, double> before;
  for (const auto& partition : after(0).busiest) before[partition.key] = partition.at_least * 2;
  for (int i = 0; i < 4; ++i) load_for_a_second();
  std::map<std::string, double> sampled;
  for (const auto& partition : after(0).busiest) {
    sampled[partition.key] = partition.at_least * 6 - before[partition.key];
  }
  // 100,000 of the former in 1.6 million, of which 1 in 16 is sampled: standard deviations of
  // about 1,300 and 3,000.
  EXPECT_NEAR(sampled["sixteenth"], 100'000, 8'000);
  EXPECT_NEAR(sampled["others"], 1'500'000, 20'000);
  EXPECT_NEAR(after(0).requests * 6, 6.0 * requests, 1) << "the total is exact";
}

TEST_F(RecentStatsTest, AllocatesNothing) {
  decide("burst", "a");
  const std::size_t before = allocations();
  for (int i = 0; i < 1000; ++i) {
    stats.decided(*labels, context, now);
    stats.decided_alone(*labels, "throttle",
                        std::string_view("0123456789").substr(static_cast<std::size_t>(i % 10)), 1,
                        i % 2 == 0, now);
    now.ns += second / 3;
  }
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace headgate::view
