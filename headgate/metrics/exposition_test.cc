// Prometheus' text format, byte by byte.

#include "headgate/metrics/exposition.h"

#include <gtest/gtest.h>

namespace headgate::metrics {
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
  EXPECT_EQ(decimal_seconds(Nanos{999'999'999'999'999} * nanos_per_second), "999999999999999");
}

}  // namespace
}  // namespace headgate::metrics
