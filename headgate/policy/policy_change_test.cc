// Copies in which one policy is changed, or policies have the numbers of a later file.
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

TEST(PolicyChange, NumbersOfALaterFileAreThoseOfPoliciesWithTheSameStates) {
  const auto base = load(R"(version: 1
policies:
  - {name: a, quota: 10, window: 1m, overrides: [{ids: ["10.0.0.1"], quota: 7}], candidate: {quota: 9}}
  - {name: other key, quota: 10, window: 1m, key: path}
  - {name: other algorithm, quota: 10, window: 1m}
  - {name: gone, quota: 10, window: 1m}
  - {name: slots, quota: 10, algorithm: concurrency, lease: 3s}
)");
  const auto newer = load(R"(version: 1
policies:
  - {name: new, quota: 1, window: 1h}
  - {name: slots, quota: 11, algorithm: concurrency, lease: 1h}
  - {name: other algorithm, quota: 11, window: 1h, algorithm: fixed-window}
  - {name: other key, quota: 11, window: 1h, key: method}
  - {name: a, quota: 11, window: 1h, mode: shadow, key: address, match: [{path: /x}], overrides: [{ids: ["10.0.0.0/8"], quota: 8}]}
)");
  const auto made = base->with_numbers_of(*newer);
  ASSERT_EQ(made->names(), base->names());
  const auto quota_of = [&](std::size_t policy) {
    return made->policies()[policy].grants[0].quota;
  };
  const limit::Quota kept{10, 60 * nanos_per_second};
  EXPECT_EQ(quota_of(0), (limit::Quota{11, 3600 * nanos_per_second}));
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(quota_of(i), kept) << made->names()[i];
  EXPECT_EQ(quota_of(5).units, 11U);
  EXPECT_EQ(made->policies()[5].terms.lease, 3600 * nanos_per_second);
  EXPECT_EQ(made->policies()[0].mode, Mode::enforce) << "the rest stays";
  std::string text;
  EXPECT_EQ(made->named("a", "10.1.1.1", 1, text)->grant->quota.units, 8U);
}

}  // namespace
}  // namespace headgate::policy
