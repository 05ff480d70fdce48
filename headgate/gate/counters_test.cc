// Counts over reloads.

#include "headgate/gate/counters.h"

#include <gtest/gtest.h>

namespace headgate::gate {
namespace {

TEST(Counters, GoOnWhenAReloadChangesNothing) {
  const auto first = Counters::open({"a", "b"}, nullptr);
  const auto second = Counters::open({"a", "b"}, first);
  EXPECT_EQ(first->lanes().data(), second->lanes().data());
}

TEST(Counters, AddUpUnderAName) {
  const auto first = Counters::open({"a", "b"}, nullptr);
  first->lanes()[0].admitted = 1;
  first->lanes()[1].admitted = 10;
  const auto second = Counters::open({"b", "c"}, first);
  second->lanes()[0].admitted = 100;
  first->lanes()[1].admitted += 1;  // by a request that has begun before the reload
  EXPECT_EQ(second->totals("b").admitted, 111u);
  EXPECT_EQ(second->totals("c").admitted, 0u);
  EXPECT_EQ(second->totals("a").admitted, 1u);
  EXPECT_EQ(first->totals("b").admitted, 11u) << "the reload may yet be refused";
}

TEST(Counters, AddUpOverLanes) {
  const auto counters = Counters::open({"a", "b"}, nullptr);
  const std::size_t lanes = counters->lanes().size() / 2;
  ASSERT_GE(lanes, 1u);
  for (PolicyCounts& each : counters->lanes()) each.admitted = 3;
  EXPECT_EQ(counters->totals("a").admitted, 3 * lanes);
  EXPECT_EQ(counters->totals("b").admitted, 3 * lanes);
}

TEST(Counters, LoseNothingOverManyReloads) {
  auto counters = Counters::open({"a"}, nullptr);
  for (int i = 0; i < 100; ++i) {
    counters->lanes()[0].denied.fetch_add(1);
    counters = Counters::open({"a", std::to_string(i)}, counters);
  }
  EXPECT_EQ(counters->totals("a").denied, 100u);
}

TEST(Counters, MayBeOfNoPolicy) {
  const auto counters = Counters::open({}, nullptr);
  EXPECT_TRUE(counters->lanes().empty());
  EXPECT_EQ(counters->totals("a").denied, 0u);
}

}  // namespace
}  // namespace headgate::gate
