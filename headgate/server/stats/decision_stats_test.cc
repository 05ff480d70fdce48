// Statistics of one worker's doors.

#include "headgate/server/stats/decision_stats.h"

#include <gtest/gtest.h>

#include "headgate/gate/table_options.h"
#include "headgate/policy/file/load.h"

namespace headgate::server {
namespace {

class DecisionStatsTest : public testing::Test {
 protected:
  DecisionStatsTest() {
    const auto policies =
        policy::load_text("version: 1\npolicies: [{name: burst, quota: 10, window: 1000d}]\n",
                          "test.yaml")
            .value();
    auto options = gate::table_options(*policies);
    options.memory = 1 << 20;
    table = store::Table::open(options).value();
    now = table->now();
    snapshot = std::make_unique<PolicySnapshot>(policies, policy::OverrideList{}, *table,
                                                table->secret(), PolicySnapshot::Numbers{},
                                                gate::Counters::open(policies->names(), nullptr));
  }

  std::unique_ptr<store::Table> table;
  std::unique_ptr<PolicySnapshot> snapshot;
  Instant now;
  DecisionStats stats;
};

TEST_F(DecisionStatsTest, CountsLimitsThatCameWithTheirRequests) {
  stats.decided_alone(DoorKind::resp, *snapshot, "throttle", "user 1", 3, true, now, 500);
  stats.decided_alone(DoorKind::resp, *snapshot, "throttle", "user 1", 3, false, now, 500);
  gate::PolicyTotals totals;
  stats.add_to(totals);
  EXPECT_EQ(totals.admitted, 1u);
  EXPECT_EQ(totals.denied, 1u);
  EXPECT_EQ(stats.recent().recent(now, snapshot->labels()).requests, 2);
}

TEST_F(DecisionStatsTest, CountsConnectionsAndLatencyByDoor) {
  gate::DecisionContext context;
  const gate::Check check{"burst", "a"};
  stats.connected(DoorKind::resp);
  stats.connected(DoorKind::resp);
  stats.disconnected(DoorKind::resp);
  stats.refused(DoorKind::resp);
  ASSERT_FALSE(snapshot->gate().decide({&check, 1}, limit::Op::spend, now, context));
  stats.decided(DoorKind::http, *snapshot, context, now, 1000);
  DecisionStats::DoorTotals resp;
  stats.add_to(resp, DoorKind::resp);
  EXPECT_EQ(resp.opened, 2u);
  EXPECT_EQ(resp.closed, 1u);
  EXPECT_EQ(resp.refused, 1u);
  EXPECT_EQ(resp.latency.sum, 0u);
  DecisionStats::DoorTotals http;
  stats.add_to(http, DoorKind::http);
  EXPECT_EQ(http.latency.sum, 1000u);
}

}  // namespace
}  // namespace headgate::server
