// Counts over reloads.

#include "headgate/gate/counters.h"

#include <gtest/gtest.h>

namespace headgate::gate {
namespace {

TEST(Counters, GoOnWhenAReloadChangesNothing) {
  const auto first = Counters::open({"a", "b"}, nullptr);
  const auto second = Counters::open({"a", "b"}, first);
  EXPECT_EQ(first->policies().data(), second->policies().data());
}

TEST(Counters, AddUpUnderAName) {
  const auto first = Counters::open({"a", "b"}, nullptr);
  first->policies()[0].admitted = 1;
  first->policies()[1].admitted = 10;
  const auto second = Counters::open({"b", "c"}, first);
  ASSERT_EQ(second->policies().size(), 2u);
  second->policies()[0].admitted = 100;
  first->policies()[1].admitted += 1;  // by a request that has begun before the reload
  EXPECT_EQ(second->totals("b").admitted, 111u);
  EXPECT_EQ(second->totals("c").admitted, 0u);
  EXPECT_EQ(second->totals("a").admitted, 1u);
  EXPECT_EQ(first->totals("b").admitted, 11u) << "the reload may yet be refused";
}

TEST(Counters, LoseNothingOverManyReloads) {
  auto counters = Counters::open({"a"}, nullptr);
  for (int i = 0; i < 100; ++i) {
    counters->policies()[0].denied.fetch_add(1);
    counters = Counters::open({"a", std::to_string(i)}, counters);
  }
  EXPECT_EQ(counters->totals("a").denied, 100u);
}

TEST(Counters, MayBeOfNoPolicy) {
  const auto counters = Counters::open({}, nullptr);
  EXPECT_TRUE(counters->policies().empty());
  EXPECT_EQ(counters->totals("a").denied, 0u);
}

}  // namespace
}  // namespace headgate::gate
