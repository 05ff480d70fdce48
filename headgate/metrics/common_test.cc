// The text of the metrics that every door has.

#include "headgate/metrics/common.h"

#include <gtest/gtest.h>

#include <array>

#include "headgate/policy/file/load.h"

namespace headgate::metrics {
namespace {

TEST(CommonMetrics, CountEachOutcomeOfEachPolicy) {
  const std::array<NamedTotals, 2> policies{{{"a",
                                              {.admitted = 1,
                                               .denied = 2,
                                               .shadow_denied = 3,
                                               .refunded = 4,
                                               .cost_defaulted = 5,
                                               .delayed = 6}},
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
            "# HELP headgate_delayed_total Requests of each policy that had to wait, as delay "
            "says.\n"
            "# TYPE headgate_delayed_total counter\n"
            "headgate_delayed_total{policy=\"a\"} 6\n"
            "headgate_delayed_total{policy=\"b\"} 0\n"
            "# HELP headgate_cost_defaulted_total Requests whose cost was not told, or not "
            "readably.\n"
            "# TYPE headgate_cost_defaulted_total counter\n"
            "headgate_cost_defaulted_total{policy=\"a\"} 5\n"
            "headgate_cost_defaulted_total{policy=\"b\"} 0\n");
}

TEST(CommonMetrics, CountRequestsByOutcome) {
  std::string text;
  Exposition out(text);
  expose_requests({.admitted = 1, .denied = 2, .shadow_denied = 3}, out);
  EXPECT_EQ(
      text,
      "# HELP headgate_requests_total Requests to which a policy applied, by outcome, however "
      "many policies decided each.\n"
      "# TYPE headgate_requests_total counter\n"
      "headgate_requests_total{outcome=\"admitted\"} 1\n"
      "headgate_requests_total{outcome=\"denied\"} 2\n"
      "headgate_requests_total{outcome=\"shadow-denied\"} 3\n");
}

TEST(CommonMetrics, HaveTheQuotasInForce) {
  const auto policies = policy::load_text(
      "version: 1\npolicies:\n"
      "  - {name: burst, quota: 5, window: 90s}\n"
      "  - {name: short, quota: 7, window: 250ms, unit: tokens}\n"
      "  - {name: slots, algorithm: concurrency, quota: 3}\n"
      "  - {name: long, quota: 1, window: 999999999999999s}\n",
      "test.yaml");
  ASSERT_TRUE(policies) << policies.error().front().text();
  std::string text;
  Exposition out(text);
  expose_quotas(**policies, out);
  EXPECT_EQ(text,
            "# HELP headgate_policy_quota Units of each policy's quota; none if it is unlimited.\n"
            "# TYPE headgate_policy_quota gauge\n"
            "headgate_policy_quota{policy=\"burst\",unit=\"requests\"} 5\n"
            "headgate_policy_quota{policy=\"short\",unit=\"tokens\"} 7\n"
            "headgate_policy_quota{policy=\"slots\",unit=\"concurrent-requests\"} 3\n"
            "headgate_policy_quota{policy=\"long\",unit=\"requests\"} 1\n"
            "# HELP headgate_policy_window_seconds The window of each policy; none if it is "
            "unlimited, or counts requests at a time.\n"
            "# TYPE headgate_policy_window_seconds gauge\n"
            "headgate_policy_window_seconds{policy=\"burst\"} 90\n"
            "headgate_policy_window_seconds{policy=\"short\"} 0.25\n"
            "headgate_policy_window_seconds{policy=\"long\"} 999999999999999\n");
}

}  // namespace
}  // namespace headgate::metrics
