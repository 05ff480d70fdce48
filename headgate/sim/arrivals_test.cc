#include "headgate/sim/arrivals.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <random>

namespace headgate::sim {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

TEST(ArrivalsTest, ReturnsArrivalsOfAnyDistances) {
  std::mt19937_64 random(7);
  const std::int64_t scales[] = {1, 1'000, 1'000'000, 1'000'000'000, 86'400'000'000'000};
  const std::uint64_t amounts[] = {0, 1, 1, 1, 2, 127, 128, 5'000'000'000, most};
  Arrivals arrivals;
  std::deque<Arrival> model;
  Nanos now = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (!model.empty() && random() % 5 < 2) {
      ASSERT_FALSE(arrivals.empty());
      ASSERT_EQ(arrivals.oldest().at, model.front().at);
      ASSERT_EQ(arrivals.oldest().units, model.front().units);
      arrivals.drop_oldest();
      model.pop_front();
      continue;
    }
    now += (static_cast<Nanos>(random() % 200) - 20) * scales[random() % std::size(scales)];
    const std::uint64_t units = amounts[random() % std::size(amounts)];
    arrivals.add({{now}, units});
    if (!model.empty() && model.back().at.ns == now && units <= most - model.back().units) {
      model.back().units += units;
    } else {
      model.push_back({{now}, units});
    }
  }
  const std::vector<Arrival> all = arrivals.all();
  ASSERT_EQ(all.size(), model.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].at, model[i].at);
    EXPECT_EQ(all[i].units, model[i].units);
  }
}

TEST(ArrivalsTest, HoldsTheLargestDistance) {
  Arrivals arrivals;
  const Nanos ends = std::numeric_limits<std::int64_t>::max();
  for (const Nanos at : {ends, -ends, ends - 1, Nanos{0}}) arrivals.add({{at}, 1});
  for (const Nanos at : {ends, -ends, ends - 1, Nanos{0}}) {
    EXPECT_EQ(arrivals.oldest().at.ns, at);
    arrivals.drop_oldest();
  }
  EXPECT_TRUE(arrivals.empty());
}

TEST(ArrivalsTest, ArrivalsOfWholeSecondsTakeTwoBytes) {
  constexpr std::size_t count = 1'000'000;
  Arrivals arrivals;
  for (std::size_t i = 0; i < count; ++i) {
    arrivals.add({{static_cast<Nanos>(i) * 1000 * nanos_per_second}, 1});
  }
  EXPECT_LE(arrivals.bytes(), 2 * 2 * count);  // half of it may be spare
}

TEST(ArrivalsTest, AQueueThatAdvancesStaysSmall) {
  Arrivals arrivals;
  for (int i = 0; i < 1'000'000; ++i) {
    arrivals.add({{static_cast<Nanos>(i) * nanos_per_second}, 1});
    if (i >= 100) arrivals.drop_oldest();
  }
  EXPECT_LE(arrivals.bytes(), 4096u);
}

}  // namespace
}  // namespace headgate::sim
