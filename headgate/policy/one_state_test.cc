#include "headgate/policy/one_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "headgate/policy/file/load.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_change.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

constexpr const char* const with_redis = "store: {redis: {nodes: ['127.0.0.1:6379']}}\n";

using Policies = std::shared_ptr<const PolicySet>;

Policies policies_of(const std::string& policy, const std::string& rest = "") {
  const auto loaded =
      load_text("version: 1\n" + rest + "policies: [{name: p, " + policy + "}]\n", "test.yaml");
  EXPECT_TRUE(loaded);
  return loaded ? *loaded : nullptr;
}

template <class L>
bool all_are(const Policies& policies) {
  return std::ranges::all_of(policies->policies().front().grants, [](const Grant& grant) {
    return grant.unlimited || std::holds_alternative<L>(grant.law);
  });
}
bool all_are_whole(const Policies& policies) { return all_are<limit::LinearWhole>(policies); }
bool all_are_exact(const Policies& policies) { return all_are<limit::LinearExact>(policies); }

// 10 s / 150 is no whole number of nanoseconds; 10 s / 100 and 10 s / 200 are.
TEST(OneState, OfASpellingAndItsOverride) {
  EXPECT_TRUE(all_are_exact(
      policies_of("quota: 100, window: 10s, key: [path], overrides: [{ids: [/a], quota: 150}]")));
  EXPECT_TRUE(all_are_exact(
      policies_of("quota: 150, window: 10s, key: [path], overrides: [{ids: [/a], quota: 100}]")));
  EXPECT_TRUE(all_are_whole(
      policies_of("quota: 100, window: 10s, key: [path], overrides: [{ids: [/a], quota: 200}]")));
}

TEST(OneState, OfAClientOrHostThatIsUncertain) {
  EXPECT_TRUE(all_are_exact(
      policies_of("quota: 100, window: 10s, overrides: [{ids: [192.0.2.1], quota: 75}]")));
  EXPECT_TRUE(all_are_exact(policies_of(
      "quota: 100, window: 10s, key: [host], overrides: [{ids: [a.example], quota: 75}]")));
}

TEST(OneState, AKeyThatIsCertainKeepsItsShortState) {
  const Policies policies = policies_of(
      "quota: 100, window: 10s, key: ['header:x-user'], overrides: [{ids: [ann], quota: 150}]");
  const auto& grants = policies->policies().front().grants;
  EXPECT_TRUE(std::holds_alternative<limit::LinearWhole>(grants[0].law));
  EXPECT_TRUE(std::holds_alternative<limit::LinearExact>(grants[1].law));
}

TEST(OneState, AnotherWindowIsAnotherStateAnyway) {
  const Policies policies = policies_of(
      "quota: 100, window: 10s, key: [path], overrides: [{ids: [/a], quota: 70, window: 60s}]");
  EXPECT_TRUE(
      std::holds_alternative<limit::LinearWhole>(policies->policies().front().grants[0].law));
}

// A quarter of 100 is 25, and of 250 it is 62: 10 s / 62 is no whole number.
TEST(OneState, AlsoWhileTheSharedStoreIsAway) {
  const Policies policies = policies_of(
      "quota: 100, window: 10s, key: [path], sharing: exact, on-outage: {local: 25%}, "
      "overrides: [{ids: [/a], quota: 250}]",
      with_redis);
  for (const Grant& grant : policies->policies().front().grants) {
    EXPECT_TRUE(std::holds_alternative<limit::LinearExact>(grant.law));
    EXPECT_TRUE(std::holds_alternative<limit::LinearExact>(grant.shared->outage_law));
  }
}

TEST(OneState, IsAgreedUponAgainWhenTheNumbersChange) {
  const Policies exact =
      policies_of("quota: 150, window: 10s, key: [path], overrides: [{ids: [/a], quota: 100}]");
  Change change;
  change.quota = 200;
  const auto whole = exact->with(0, change);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(all_are_whole(*whole));
  change.quota = 150;
  const auto again = (*whole)->with(0, change);
  ASSERT_TRUE(again);
  EXPECT_TRUE(all_are_exact(*again));
}

// The keys and laws of both spellings; if there is a quota, while "/a" has a live override of it.
struct Spellings {
  explicit Spellings(const Policies& policies, std::optional<std::uint64_t> quota = std::nullopt) {
    const LiveOverride override{"p", "/a", quota};
    const auto overridden = quota ? policies->with(std::span(&override, 1)).policies : policies;
    Scratch scratch;
    Request request;
    for (std::size_t i = 0; i < 2; ++i) {
      request.path = i == 0 ? "/a" : "/A";
      const Match match = overridden->match(request, scratch).front();
      keys[i] = match.key;
      laws[i] = match.grant->law.index();
    }
  }
  std::string keys[2];
  std::size_t laws[2];
};

// What is leased is in Redis under a key of its own; quotas below 20 are not.
TEST(OneState, WhatIsLeasedIsApartFromWhatIsNot) {
  const auto spellings = [](const std::string& quota) {
    return Spellings(policies_of("quota: " + quota +
                                     ", window: 1h, key: [path], sharing: leased, "
                                     "overrides: [{ids: [/a], quota: 40}]",
                                 with_redis));
  };
  const Spellings one = spellings("20");
  EXPECT_EQ(one.keys[0], one.keys[1]);
  const Spellings apart = spellings("19");
  EXPECT_NE(apart.keys[0], apart.keys[1]);
}

TEST(OneState, OfALiveOverrideAlsoWhileTheSharedStoreIsAway) {
  const Spellings apart(
      policies_of("quota: 100, window: 10s, key: [path], on-outage: {local: 25%}", with_redis),
      250);
  EXPECT_NE(apart.keys[0], apart.keys[1]);
}

TEST(OneState, OfAnOverrideThatIsSetWhileTheProgramRuns) {
  const Spellings same(policies_of("quota: 100, window: 10s, key: [path]"), 200);
  EXPECT_EQ(same.keys[0], same.keys[1]);
  EXPECT_EQ(same.laws[0], same.laws[1]);

  // The keys of all other clients keep their states, so this one has two buckets.
  const Spellings apart(policies_of("quota: 100, window: 10s, key: [path]"), 150);
  EXPECT_NE(apart.keys[0], apart.keys[1]);

  const Spellings exact(
      policies_of("quota: 100, window: 10s, key: [path], overrides: [{ids: [/b], quota: 75}]"),
      200);
  EXPECT_EQ(exact.keys[0], exact.keys[1]);
  EXPECT_EQ(exact.laws[0], exact.laws[1]);
}

}  // namespace
}  // namespace headgate::policy
