// The law that a policy's algorithm and its parameters result in.
#include "headgate/policy/file/read_terms.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "headgate/policy/file/load.h"

namespace headgate::policy {
namespace {

using limit::Algorithm;
using limit::Denied;

// The policy `{name: p, keys}`.
Policy read(const std::string& keys) {
  const Loaded loaded = load_text("version: 1\npolicies: [{name: p, " + keys + "}]\n", "test.yaml");
  if (loaded) return (*loaded)->policies().front();
  ADD_FAILURE() << loaded.error().front().text() << "\n" << keys;
  Policy policy;
  policy.grants = {Grant{}};
  return policy;
}

template <class L>
bool has_law(const Policy& policy) {
  return std::holds_alternative<L>(policy.grants.front().law);
}

TEST(Terms, EveryAlgorithmByEveryName) {
  const std::string quota = "quota: 10, window: 3s, algorithm: ";
  for (const char* const name : {"linear", "gcra", "token-bucket", "leaky-bucket"}) {
    EXPECT_EQ(read(quota + name).terms.algorithm, Algorithm::linear);
    EXPECT_TRUE(has_law<limit::LinearWhole>(read(quota + name)));
  }
  EXPECT_TRUE(has_law<limit::LinearExact>(read("quota: 7, window: 1s, algorithm: gcra")));
  EXPECT_TRUE(has_law<limit::Exponential>(read(quota + "exponential")));
  EXPECT_TRUE(has_law<limit::FixedWindow>(read(quota + "fixed-window")));
  EXPECT_TRUE(has_law<limit::SlidingWindowCounter>(read(quota + "sliding-window-counter")));
  EXPECT_TRUE(has_law<limit::MovingWindow>(read(quota + "moving-window")));
  EXPECT_TRUE(has_law<limit::Concurrency>(read("quota: 10, algorithm: concurrency")));
}

TEST(Terms, Defaults) {
  const limit::Terms terms = read("quota: 10, window: 3s").terms;
  EXPECT_EQ(terms.algorithm, Algorithm::linear);
  EXPECT_FALSE(terms.aligned);
  EXPECT_FALSE(terms.late);
  EXPECT_EQ(terms.log, 4096U);
  EXPECT_EQ(terms.lease, 60 * nanos_per_second);
}

TEST(Terms, Windows) {
  const std::string day = "quota: 10, window: 1d, algorithm: ";
  limit::Terms terms = read(day + "fixed-window, aligned: true, offset: 6h, denied: spend").terms;
  EXPECT_TRUE(terms.aligned);
  EXPECT_EQ(terms.offset, 6 * 3600 * nanos_per_second);
  EXPECT_EQ(terms.denied, Denied::spend);
  terms = read(day + "sliding-window-counter, aligned: true").terms;
  EXPECT_TRUE(terms.aligned);
  EXPECT_EQ(terms.offset, 0);
  EXPECT_EQ(read(day + "fixed-window, aligned: true, offset: 0").terms.offset, 0);
  EXPECT_FALSE(read(day + "fixed-window, aligned: false").terms.aligned);
  EXPECT_EQ(read(day + "moving-window, log: 1").terms.log, 1U);
  EXPECT_EQ(read(day + "moving-window, log: 65536").terms.log, 65536U);
}

// The window of an override may be shorter than the policy's offset.
TEST(Terms, AnOffsetBeyondAnOverridesWindow) {
  const Policy policy = read(
      "quota: 10, window: 1d, algorithm: fixed-window, aligned: true, offset: 6h, overrides: "
      "[{ids: [10.0.0.1], window: 1h}]");
  ASSERT_EQ(policy.grants.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<limit::FixedWindow>(policy.grants[1].law));
}

TEST(Terms, Concurrency) {
  const Policy policy = read(
      "quota: 10, algorithm: concurrency, lease: 90s, denied: free, cost: 2, overrides: "
      "[{ids: [10.0.0.1], quota: 20}, {ids: [10.0.0.2], quota: 0}, {ids: [10.0.0.3], quota: "
      "unlimited}]");
  EXPECT_EQ(policy.unit, "concurrent-requests");
  EXPECT_EQ(policy.terms.lease, 90 * nanos_per_second);
  EXPECT_EQ(policy.grants[0].quota, (limit::Quota{10, 0})) << "no window";
  EXPECT_EQ(policy.grants[1].quota, (limit::Quota{20, 0}));
  EXPECT_TRUE(std::holds_alternative<limit::Closed>(policy.grants[2].law));
  EXPECT_TRUE(policy.grants[3].unlimited);
  EXPECT_EQ(read("quota: 1, algorithm: concurrency, unit: workers").unit, "workers");
  EXPECT_EQ(read("quota: 1, algorithm: concurrency, unit: concurrent-requests").unit,
            "concurrent-requests");
}

TEST(Terms, AQuotaOfZeroIsTheClosedLaw) {
  for (const char* const name :
       {"linear", "exponential", "fixed-window", "sliding-window-counter", "moving-window"}) {
    EXPECT_TRUE(
        has_law<limit::Closed>(read("quota: 0, window: 1s, algorithm: " + std::string(name))));
  }
  EXPECT_TRUE(has_law<limit::Closed>(read("quota: 0, algorithm: concurrency")));
}

}  // namespace
}  // namespace headgate::policy
