// A law that is made from a law's parameters decides the same.

#include <gtest/gtest.h>

#include <vector>

#include "headgate/limit/law.h"
#include "headgate/limit/testing/key_state.h"
#include "headgate/limit/testing/random_parameters.h"

namespace headgate::limit {
namespace {

TEST(Parameters, MakeTheSameLaw) {
  RandomParameters dice;
  std::vector<int> laws(std::variant_size_v<Law>);
  for (int round = 0; round < 4000; ++round) {
    const Parameters given = dice.next_with_delay();
    const auto law = make_law(given.quota, given.terms);
    if (!law) continue;
    ++laws[law->index()];
    const Parameters read = parameters_of(*law);
    const auto again = make_law(read.quota, read.terms);
    ASSERT_TRUE(again) << "round " << round;
    ASSERT_EQ(again->index(), law->index());
    ASSERT_EQ(parameters_of(*again), read) << "round " << round;
    KeyState one;
    KeyState other;
    Instant now{1'700'000'000 * nanos_per_second};
    for (int step = 0; step < 20; ++step) {
      now.ns +=
          given.quota.window / static_cast<Nanos>(1 + dice.below(40)) * (step % 7 == 0 ? -1 : 1);
      const auto op = static_cast<Op>(dice.below(4));
      const std::uint64_t cost = dice.below(given.quota.units + 3);
      ASSERT_EQ(one.take(*law, op, cost, now), other.take(*again, op, cost, now))
          << "round " << round << ", step " << step;
    }
  }
  for (const int count : laws) EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace headgate::limit
