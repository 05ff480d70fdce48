#include "headgate/cli/describe.h"

#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"

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

TEST(Describe, ShowsEverySetting) {
  EXPECT_EQ(described("{name: b, quota: 7, window: 1500ms, unit: content-bytes, mode: shadow, "
                      "key: [header:x], match: [{path: /a}], cost: request-bytes, "
                      "denied: {penalty: 30s}, reset: full, refund-on: [5xx, 304, 404, 405], "
                      "status: 503, overrides: [{ids: [a], quota: unlimited}, {ids: [b, c], "
                      "quota: 9}]}"),
            "b: 7 content-bytes per 1500ms, linear, shadow: decides and counts, never denies\n"
            "  key       [header:x]\n"
            "  match     [{path: /a}]\n"
            "  paths     as upstreams route them: /Login/, //login;x and /%6cogin are /login\n"
            "  cost      request-bytes\n"
            "  denied    penalty of up to 30s\n"
            "  reset     full\n"
            "  refund on 304, 404-405, 5xx\n"
            "  status    503\n"
            "  overrides unlimited\n"
            "            9 content-bytes per 1500ms\n");
}

TEST(Describe, ACandidateUnderItsPolicy) {
  const auto candidate = [](const std::string& share) {
    const auto loaded = policy::load_text(
        "version: 1\npolicies: [{name: a, rate: 9/s, status: 503, "
        "candidate: {quota: 5" +
            share + "}}]\n",
        "test.yaml");
    return describe((*loaded)->policies()[1]);
  };
  EXPECT_EQ(candidate(""),
            "a (candidate): 5 requests per 1s, linear, in force for no key: counts beside the "
            "policy\n");
  EXPECT_EQ(candidate(", share: 10%"),
            "a (candidate): 5 requests per 1s, linear, in force for 10% of the keys of a\n");
}

TEST(Describe, WhatMachinesShare) {
  const auto shared = [](const std::string& keys, const std::string& rate = "1/s") {
    const auto loaded = policy::load_text(
        "version: 1\nstore: {redis: {nodes: [a:1]}}\npolicies: [{name: a, rate: " + rate + keys +
            "}]\n",
        "test.yaml");
    const std::string text = describe((*loaded)->policies().front());
    return text.substr(text.find("every request\n") + 14);
  };
  EXPECT_EQ(shared(""),
            "  shared    exactly; while Redis is away each machine counts alone, with 100% of the "
            "quota\n");
  EXPECT_EQ(shared(", on-outage: deny"),
            "  shared    exactly; while Redis is away all is denied\n");
  EXPECT_EQ(shared(", on-outage: allow"),
            "  shared    exactly; while Redis is away all is admitted\n");
  EXPECT_EQ(shared(", sharing: none"), "");
  EXPECT_EQ(shared(", sharing: leased, on-outage: allow"),
            "  shared    exactly, because no tenth of the quota can be leased; while Redis is away "
            "all is admitted\n");
  EXPECT_EQ(shared(", sharing: leased", "300/s"),
            "  shared    in leases of 30 units together; while Redis is away each machine counts "
            "alone, with 100% of the quota\n");
}

TEST(Describe, HowPathsAreCompared) {
  const std::string folded =
      "  paths     as upstreams route them: /Login/, //login;x and /%6cogin are /login";
  EXPECT_NE(described("{name: a, rate: 1/s, key: [path]}").find(folded + '\n'), std::string::npos);
  EXPECT_NE(described("{name: a, rate: 1/s, match: [{exact-path: /a}]}")
                .find("  paths     byte by byte, as sent\n"),
            std::string::npos);
  EXPECT_NE(described("{name: a, rate: 1/s, match: [{exact-path: /a}, {path: /b}]}")
                .find(folded + "; exact-path byte by byte, as sent\n"),
            std::string::npos);
}

TEST(Describe, EveryAlgorithm) {
  const auto first_line = [](const std::string& policy) {
    const std::string text = described(policy);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(first_line("{name: a, quota: 3, window: 1d, algorithm: fixed-window, aligned: true, "
                       "offset: 6h}"),
            "a: 3 requests per 1d, fixed-window, aligned to the clock plus 6h");
  EXPECT_EQ(first_line("{name: a, rate: 3/s, algorithm: sliding-window-counter, aligned: true}"),
            "a: 3 requests per 1s, sliding-window-counter, aligned to the clock");
  EXPECT_EQ(first_line("{name: a, rate: 3/s, algorithm: exponential}"),
            "a: 3 requests per 1s, exponential");
  EXPECT_EQ(first_line("{name: a, burst: 5, count: 120, period: 1m}"),
            "a: 5 requests at once, and 120 per 1m, linear");
  EXPECT_EQ(first_line("{name: a, burst: 5, count: 120, period: 1m, algorithm: moving-window}"),
            "a: 5 requests per 2500ms, moving-window");
}

TEST(Describe, TheMemoryOfAMovingWindow) {
  EXPECT_EQ(described("{name: m, quota: 9000, window: 1h, algorithm: moving-window}"),
            "m: 9000 requests per 1h, moving-window\n"
            "  key       [address]\n"
            "  match     every request\n"
            "  log       at most 4096 records a partition, of 16 bytes each\n");
  EXPECT_NE(described("{name: m, quota: 9, window: 1h, algorithm: moving-window}")
                .find("at most 9 records"),
            std::string::npos);
}

TEST(Describe, Concurrency) {
  EXPECT_EQ(described("{name: c, quota: 20, algorithm: concurrency, lease: 5m, overrides: [{ids: "
                      "[10.0.0.1], quota: 40}]}"),
            "c: 20 concurrent-requests at the same time, concurrency\n"
            "  key       [address]\n"
            "  match     every request\n"
            "  lease     5m\n"
            "  overrides 40 concurrent-requests at the same time\n");
}

TEST(Describe, ALateCost) {
  EXPECT_NE(
      described("{name: a, rate: 3/s, cost: {response-header: x-tokens}}")
          .find("  cost      {response-header: x-tokens}, charged when the response has ended\n"),
      std::string::npos);
}

TEST(Describe, TheLongestWindowsAreExact) {
  EXPECT_EQ(described("{name: b, quota: 1, window: 999999999999999s}").substr(0, 47),
            "b: 1 requests per 999999999999999s, linear\n  ke");
}

}  // namespace
}  // namespace headgate::cli
