// Prometheus' text, to the byte.

#include "headgate/gate/exposition.h"

#include <gtest/gtest.h>

#include <array>

namespace headgate::gate {
namespace {

using Type = Exposition::Type;

TEST(Exposition, BeginsAMetricAndListsItsSamples) {
  std::string text;
  Exposition out(text);
  out.begin("a_total", Type::counter, "What a is.");
  out.sample({{"policy", "burst"}, {"outcome", "denied"}}, 18446744073709551615u);
  out.one("b", Type::gauge, "What b is.", 0);
  EXPECT_EQ(text,
            "# HELP a_total What a is.\n"
            "# TYPE a_total counter\n"
            "a_total{policy=\"burst\",outcome=\"denied\"} 18446744073709551615\n"
            "# HELP b What b is.\n"
            "# TYPE b gauge\n"
            "b 0\n");
}

TEST(Exposition, EscapesLabels) {
  std::string text;
  Exposition(text).sample({{"policy", "a\\b\"c\nd\"} 1\n"}}, 1);
  EXPECT_EQ(text, "{policy=\"a\\\\b\\\"c\\nd\\\"} 1\\n\"} 1\n");
}

TEST(Exposition, WritesTheParts) {
  std::string text;
  Exposition out(text);
  out.begin("h", Type::histogram, "H.");
  out.sample("_bucket", {{"le", "+Inf"}}, 3);
  out.sample_seconds("_sum", {}, 1'500'000);
  EXPECT_EQ(text, "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 3\nh_sum 0.0015\n");
}

TEST(Exposition, WritesSecondsExactly) {
  EXPECT_EQ(decimal_seconds(0), "0");
  EXPECT_EQ(decimal_seconds(1), "0.000000001");
  EXPECT_EQ(decimal_seconds(999'999'999), "0.999999999");
  EXPECT_EQ(decimal_seconds(10'000'000'000), "10");
  EXPECT_EQ(decimal_seconds(10'020'000'000), "10.02");
  EXPECT_EQ(decimal_seconds(18446744073709551615u), "18446744073.709551615");
}

TEST(Exposition, TellsEachOutcomeOfEachPolicy) {
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

TEST(PolicyTotals, AddUpWhatWasCounted) {
  PolicyCounts counts;
  counts.admitted = 1;
  counts.denied = 2;
  counts.shadow_denied = 3;
  counts.refunded = 4;
  counts.cost_defaulted = 5;
  PolicyTotals totals{.admitted = 10};
  (totals += counts) += counts;
  EXPECT_EQ(totals.admitted, 12u);
  EXPECT_EQ(totals.denied, 4u);
  EXPECT_EQ(totals.shadow_denied, 6u);
  EXPECT_EQ(totals.refunded, 8u);
  EXPECT_EQ(totals.cost_defaulted, 10u);
}

}  // namespace
}  // namespace headgate::gate
