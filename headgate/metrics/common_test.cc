// The text of the metrics that every door has.

#include "headgate/metrics/common.h"

#include <gtest/gtest.h>

#include <array>

namespace headgate::metrics {
namespace {

TEST(CommonMetrics, CountEachOutcomeOfEachPolicy) {
  const std::array<NamedTotals, 2> policies{
      {{"a", {.admitted = 1, .denied = 2, .shadow_denied = 3, .refunded = 4, .cost_defaulted = 5}},
       {"b", {}}}};
  std::string text;
  Exposition out(text);
  expose_policies(policies, out);
  EXPECT_EQ(text,
            "# HELP headgate_decisions_total Decisions of each policy, by outcome.\n"
            "# TYPE headgate_decisions_total counter\n"
            "headgate_decisions_total{policy=\"a\",outcome=\"admitted\"} 1\n"
            "headgate_decisions_total{policy=\"a\",outcome=\"denied\"} 2\n"
            "headgate_decisions_total{policy=\"a\",outcome=\"shadow-denied\"} 3\n"
            "headgate_decisions_total{policy=\"b\",outcome=\"admitted\"} 0\n"
            "headgate_decisions_total{policy=\"b\",outcome=\"denied\"} 0\n"
            "headgate_decisions_total{policy=\"b\",outcome=\"shadow-denied\"} 0\n"
            "# HELP headgate_decisions_without_redis_total Decisions of each policy that were made "
            "while Redis was away, as on-outage says.\n"
            "# TYPE headgate_decisions_without_redis_total counter\n"
            "headgate_decisions_without_redis_total{policy=\"a\"} 0\n"
            "headgate_decisions_without_redis_total{policy=\"b\"} 0\n"
            "# HELP headgate_refunds_total Charges given back because of refund-on.\n"
            "# TYPE headgate_refunds_total counter\n"
            "headgate_refunds_total{policy=\"a\"} 4\n"
            "headgate_refunds_total{policy=\"b\"} 0\n"
            "# HELP headgate_cost_defaulted_total Requests whose cost was not told, or not "
            "readably.\n"
            "# TYPE headgate_cost_defaulted_total counter\n"
            "headgate_cost_defaulted_total{policy=\"a\"} 5\n"
            "headgate_cost_defaulted_total{policy=\"b\"} 0\n");
}

}  // namespace
}  // namespace headgate::metrics
