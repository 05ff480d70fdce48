// Counts over reloads.

#include "headgate/gate/counters.h"

#include <gtest/gtest.h>

namespace headgate::gate {
namespace {

TEST(Counters, ContinueIfAReloadChangesNothing) {
  const auto first = Counters::open({"a", "b"}, nullptr);
  const auto second = Counters::open({"a", "b"}, first);
  EXPECT_EQ(first->shards().data(), second->shards().data());
}

TEST(Counters, AddUpUnderAName) {
  const auto first = Counters::open({"a", "b"}, nullptr);
  first->shards()[0].admitted = 1;
  first->shards()[1].admitted = 10;
  const auto second = Counters::open({"b", "c"}, first);
  second->shards()[0].admitted = 100;
  first->shards()[1].admitted += 1;  // by a request that has begun before the reload
  EXPECT_EQ(second->totals("b").admitted, 111u);
  EXPECT_EQ(second->totals("c").admitted, 0u);
  EXPECT_EQ(second->totals("a").admitted, 1u);
  EXPECT_EQ(first->totals("b").admitted, 11u) << "the reload may yet be refused";
}

TEST(Counters, AddUpOverShards) {
  const auto counters = Counters::open({"a", "b"}, nullptr);
  const std::size_t shards = counters->shards().size() / 3;
  ASSERT_GE(shards, 1u);
  for (PolicyCounts& each : counters->shards()) each.admitted = 3;
  EXPECT_EQ(counters->totals("a").admitted, 3 * shards);
  EXPECT_EQ(counters->totals("b").admitted, 3 * shards);
  EXPECT_EQ(counters->requests().admitted, 3 * shards);
}

TEST(Counters, AddUpRequestsOverReloads) {
  auto counters = Counters::open({"a"}, nullptr);
  for (int i = 0; i < 100; ++i) {
    counters->shards()[1].admitted.fetch_add(1);
    counters->shards()[1].denied.fetch_add(2);
    counters = Counters::open({"b", "a"}, counters);
    counters->shards()[2].shadow_denied.fetch_add(3);
    counters = Counters::open({"a"}, counters);
  }
  EXPECT_EQ(counters->requests().admitted, 100u);
  EXPECT_EQ(counters->requests().denied, 200u);
  EXPECT_EQ(counters->requests().shadow_denied, 300u);
  EXPECT_EQ(counters->totals("a").admitted, 0u);
}

TEST(Counters, LoseNothingOverManyReloads) {
  auto counters = Counters::open({"a"}, nullptr);
  for (int i = 0; i < 100; ++i) {
    PolicyCounts& counts = counters->shards()[0];
    counts.admitted.fetch_add(1);
    counts.denied.fetch_add(2);
    counts.shadow_denied.fetch_add(3);
    counts.refunded.fetch_add(4);
    counts.cost_defaulted.fetch_add(5);
    counts.outage.fetch_add(6);
    counts.delayed.fetch_add(7);
    counters = Counters::open({"a", std::to_string(i)}, counters);
  }
  const PolicyTotals totals = counters->totals("a");
  EXPECT_EQ(totals.admitted, 100u);
  EXPECT_EQ(totals.denied, 200u);
  EXPECT_EQ(totals.shadow_denied, 300u);
  EXPECT_EQ(totals.refunded, 400u);
  EXPECT_EQ(totals.cost_defaulted, 500u);
  EXPECT_EQ(totals.outage, 600u);
  EXPECT_EQ(totals.delayed, 700u);
}

TEST(Counters, KeepWhatWasLearntAboutAPolicy) {
  auto counters = Counters::open({"a", "b"}, nullptr);
  counters->shards()[1].estimate = 77;
  counters = Counters::open({"b", "c"}, counters);
  EXPECT_EQ(counters->shards()[0].estimate, 77u);
  EXPECT_EQ(counters->shards()[1].estimate, 0u);
}

TEST(Counters, MayBeEmpty) {
  const auto counters = Counters::open({}, nullptr);
  EXPECT_EQ(counters->totals("a").denied, 0u);
  EXPECT_EQ(counters->requests().denied, 0u);
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
