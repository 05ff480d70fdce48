// PolicySet::with(): a copy with overrides that are made while a program runs.
#include "headgate/policy/live/override.h"

#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

constexpr Nanos minute = 60 * nanos_per_second;

std::shared_ptr<const PolicySet> load(const std::string& policies) {
  const Loaded loaded = load_text("version: 1\npolicies:\n" + policies, "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().front().text();
  return loaded ? *loaded : nullptr;
}

const Grant& grant_of(const PolicySet& policies, std::string_view policy, std::string_view key) {
  std::string text;
  return *policies.named(policy, key, 1, text)->grant;
}

std::string fault(const PolicySet& policies, const LiveOverride& override) {
  const Overridden made = policies.with(std::span(&override, 1));
  EXPECT_EQ(policies.fault_of(override), made.faults[0]);
  return made.faults[0];
}

TEST(LiveOverride, OneKeyHasAnotherQuotaAndTheRestStays) {
  const auto base = load(R"(
  - {name: burst, quota: 100, window: 1m, overrides: [{ids: [10.0.0.9], quota: 7}]}
  - {name: global, quota: 10, window: 1h, key: []}
  - {name: pair, quota: 10, window: 1h, key: ["header:x-user", path]}
)");
  const LiveOverride overrides[] = {{"burst", "10.0.0.1", 50, {}},
                                    {"burst", "10.0.0.9", std::nullopt, {}},
                                    {"global", "", 20, minute},
                                    {"pair", "ann,/V1/", 5, {}}};
  const Overridden made = base->with(overrides);
  EXPECT_EQ(made.faults, std::vector<std::string>(4));
  EXPECT_EQ(grant_of(*made.policies, "burst", "10.0.0.1").quota, (limit::Quota{50, minute}));
  EXPECT_EQ(grant_of(*made.policies, "burst", "::ffff:10.0.0.1").quota.units, 50u);
  EXPECT_TRUE(grant_of(*made.policies, "burst", "10.0.0.9").unlimited) << "not the file's";
  EXPECT_EQ(grant_of(*made.policies, "burst", "10.0.0.2").quota.units, 100u);
  EXPECT_EQ(grant_of(*made.policies, "global", "").quota, (limit::Quota{20, minute}));
  EXPECT_EQ(grant_of(*made.policies, "pair", "ann,/v1").quota.units, 5u)
      << "less, for all spellings of the path";
  EXPECT_EQ(grant_of(*base, "burst", "10.0.0.1").quota.units, 100u);
}

TEST(LiveOverride, MoreIsForOneSpellingOfAPathAlone) {
  const auto base = load("  - {name: pages, quota: 10, window: 1h, key: [path]}\n");
  const LiveOverride override{"pages", "/v1", 500, {}};
  const Overridden made = base->with(std::span(&override, 1));
  EXPECT_EQ(grant_of(*made.policies, "pages", "/v1").quota.units, 500u);
  EXPECT_EQ(grant_of(*made.policies, "pages", "/V1").quota.units, 10u);
}

TEST(LiveOverride, TakesThePlaceOfOneOfAnotherSpellingAndWindow) {
  const auto base = load(R"(
  - {name: pages, quota: 5, window: 1m, key: [path], overrides: [{ids: [/Admin], quota: 100, window: 1h}]}
)");
  const LiveOverride override{"pages", "/admin", 0, {}};
  const Overridden made = base->with(std::span(&override, 1));
  EXPECT_EQ(made.faults[0], "");
  EXPECT_EQ(grant_of(*made.policies, "pages", "/admin").quota.units, 0u);
  EXPECT_EQ(grant_of(*made.policies, "pages", "/Admin").quota.units, 0u);
}

TEST(LiveOverride, OfTwoOfOnePartitionTheLaterCountsAndTheOtherSaysSo) {
  const auto base = load("  - {name: burst, quota: 100, window: 1m}\n");
  const LiveOverride overrides[] = {{"burst", "10.0.0.1", 50, {}},
                                    {"burst", "10.0.0.2", 60, {}},
                                    {"burst", "::ffff:10.0.0.1", 70, {}}};
  const Overridden made = base->with(overrides);
  const std::vector<std::string> faults = {
      "key '::ffff:10.0.0.1', which comes later, is the same partition", "", ""};
  EXPECT_EQ(made.faults, faults);
  EXPECT_EQ(grant_of(*made.policies, "burst", "10.0.0.1").quota.units, 70u);
}

TEST(LiveOverride, WhatDoesNotFitIsLeftOutAndSaysWhy) {
  const auto base = load(R"(
  - {name: burst, quota: 100, window: 1m}
  - {name: slots, quota: 3, algorithm: concurrency}
  - {name: monthly, rate: 5000/month, time-zone: Europe/Berlin, algorithm: fixed-window}
  - {name: pair, quota: 10, window: 1h, key: ["header:x-user", path]}
  - {name: global, quota: 10, window: 1h, key: []}
)");
  EXPECT_EQ(fault(*base, {"brust", "a", 1, {}}), "there is no policy 'brust'");
  EXPECT_EQ(fault(*base, {"burst", "ann", 1, {}}),
            "key 'ann' is not an address; expected one like 10.0.0.2 or 2001:db8::1, as the key "
            "has it");
  EXPECT_EQ(fault(*base, {"burst", "10.0.0.1", std::nullopt, minute}),
            "policy 'burst' cannot be unlimited over a window; expected no window");
  constexpr Nanos odd_window = limit::Quota::window_max - nanos_per_second;
  EXPECT_EQ(fault(*base, {"burst", "10.0.0.1", limit::Quota::units_max, odd_window}),
            "policy 'burst' would have a quota and a window beyond exact 128-bit arithmetic; "
            "expected a smaller quota or a shorter window");
  EXPECT_EQ(fault(*base, {"slots", "10.0.0.1", 1, minute}),
            "policy 'slots' counts what is in flight; expected a quota without a window");
  EXPECT_EQ(fault(*base, {"slots", "10.0.0.1", 1, {}}), "");
  EXPECT_EQ(fault(*base, {"monthly", "10.0.0.1", 1, minute}),
            "policy 'monthly' has windows of a calendar; expected a quota without a window");
  EXPECT_EQ(fault(*base, {"monthly", "10.0.0.1", 1, {}}), "");
  EXPECT_EQ(
      fault(*base, {"pair", "ann", 1, {}}),
      "key 'ann' does not have 2 parts with a comma between; expected one for each component of "
      "the policy's key");
  EXPECT_EQ(fault(*base, {"global", "ann", 1, {}}),
            "key 'ann' is not empty; expected an empty one, because the policy has key: []");
}

}  // namespace
}  // namespace headgate::policy
