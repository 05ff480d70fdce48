#include "headgate/cli/describe.h"

#include <gtest/gtest.h>

#include "headgate/policy/load.h"

namespace headgate::cli {
namespace {

std::string described(const std::string& policy) {
  const auto loaded = policy::load_text("version: 1\npolicies: [" + policy + "]\n", "test.yaml");
  return loaded ? describe((*loaded)->policies().front()) : loaded.error().front().text();
}

TEST(Describe, APlainPolicyTakesThreeLines) {
  EXPECT_EQ(described("{name: burst, quota: 100, window: 60}"),
            "burst: 100 requests per 1m, linear\n"
            "  key       [address]\n"
            "  match     every request\n");
}

TEST(Describe, EveryChoiceIsShown) {
  EXPECT_EQ(described("{name: b, quota: 7, window: 1500ms, unit: content-bytes, mode: shadow, "
                      "key: [header:x], match: [{path: /a}], cost: request-bytes, "
                      "denied: {penalty: 30s}, reset: full, refund-on: [5xx, 304, 404, 405], "
                      "status: 503, overrides: [{ids: [a], quota: unlimited}, {ids: [b, c], "
                      "quota: 9}]}"),
            "b: 7 content-bytes per 1500ms, linear, shadow: decides and counts, never denies\n"
            "  key       [header:x]\n"
            "  match     [{path: /a}]\n"
            "  cost      request-bytes\n"
            "  denied    penalty of up to 30s\n"
            "  reset     full\n"
            "  refund on 304, 404-405, 5xx\n"
            "  status    503\n"
            "  overrides unlimited\n"
            "            9 per 1500ms\n");
}

TEST(Describe, TheLongestWindowsAreExact) {
  EXPECT_EQ(described("{name: b, quota: 1, window: 999999999999999s}").substr(0, 47),
            "b: 1 requests per 999999999999999s, linear\n  ke");
}

}  // namespace
}  // namespace headgate::cli
