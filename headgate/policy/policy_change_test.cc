// PolicySet::with(): a copy in which one policy is changed.
#include <gtest/gtest.h>

#include "headgate/policy/file/load.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {
namespace {

std::shared_ptr<const PolicySet> load(const std::string& yaml) {
  const Loaded loaded = load_text(yaml, "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().front().text();
  return loaded ? *loaded : nullptr;
}

TEST(PolicyChange, AQuotaGetsItsLawAndTheRestStays) {
  const auto base = load(R"(version: 1
policies:
  - {name: a, quota: 10, window: 1m, overrides: [{ids: ["10.0.0.1"], quota: 7}]}
  - {name: b, quota: 20, window: 1h}
)");
  const auto changed = base->with(0, {.quota = 50, .window = 90 * nanos_per_second});
  ASSERT_TRUE(changed) << changed.error();
  const Policy& a = (*changed)->policies()[0];
  EXPECT_EQ(a.grants[0].quota, (limit::Quota{50, 90 * nanos_per_second}));
  EXPECT_EQ(std::get<limit::LinearWhole>(a.grants[0].law).quota(), a.grants[0].quota.units);
  EXPECT_EQ(a.grants[1].quota, (limit::Quota{7, 60 * nanos_per_second}));
  EXPECT_EQ((*changed)->policies()[1].grants[0].quota, base->policies()[1].grants[0].quota);
  EXPECT_EQ(base->policies()[0].grants[0].quota.units, 10u);
}

TEST(PolicyChange, AnAlgorithmAppliesToTheOverridesToo) {
  const auto base = load(R"(version: 1
policies:
  - {name: a, quota: 10, window: 1m, overrides: [{ids: ["10.0.0.1"], quota: 7}]}
)");
  const auto changed = base->with(0, {.algorithm = limit::Algorithm::moving_window});
  ASSERT_TRUE(changed) << changed.error();
  for (const Grant& grant : (*changed)->policies()[0].grants) {
    EXPECT_TRUE(std::holds_alternative<limit::MovingWindow>(grant.law));
  }
}

TEST(PolicyChange, ImpossibleChangesAreRefused) {
  const auto base = load(R"(version: 1
policies:
  - {name: slots, quota: 10, algorithm: concurrency}
  - {name: strict, quota: 10, window: 1m, denied: spend}
)");
  EXPECT_TRUE(base->with(0, {.quota = 3}));
  EXPECT_FALSE(base->with(0, {.window = nanos_per_second}));
  EXPECT_FALSE(base->with(0, {.algorithm = limit::Algorithm::linear}));
  EXPECT_FALSE(base->with(1, {.algorithm = limit::Algorithm::concurrency}));
  EXPECT_FALSE(base->with(1, {.algorithm = limit::Algorithm::moving_window}));
  EXPECT_TRUE(base->with(1, {.algorithm = limit::Algorithm::fixed_window}));
}

}  // namespace
}  // namespace headgate::policy
