#include "headgate/redis/denials.h"

#include <gtest/gtest.h>

#include "headgate/redis/key_state.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using std::chrono::milliseconds;
using store::Charge;

constexpr Nanos second = nanos_per_second;
constexpr Instant decided{1'700'000'000 * second};
const Denials::Time asked{std::chrono::seconds(1000)};

// Redis has denied `cost` units 10 ms after it was asked, and answered after 20 ms. `spent` units
// had been spent at that moment.
Denials::Denial denial(const limit::Law& law, std::uint64_t spent) {
  KeyState state(law, {});
  EXPECT_TRUE(state.apply({&law, "\1k", spent}, decided).admitted);
  return {state.bytes(), decided, asked, asked + milliseconds(20)};
}

limit::Law law(std::uint64_t quota, Nanos window, Algorithm algorithm = Algorithm::linear) {
  return limit::make_law({quota, window}, {.algorithm = algorithm}).value();
}

// Of a denial for which a unit comes back 100 ms after it was decided.
void expect_held_for_100_ms(Denials& denials, const Charge& one) {
  const auto found = denials.find(one, asked + milliseconds(50));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->admitted);
  EXPECT_EQ(found->remaining, 0U);
  EXPECT_EQ(found->reset, 1U);
  // 70 to 80 ms are left, and the longer wait is the one that is sure to be long enough.
  EXPECT_GE(found->wait, 70'000'000);
  EXPECT_LE(found->wait, 70'100'000);
  EXPECT_TRUE(denials.find(one, asked + milliseconds(99)));
  EXPECT_FALSE(denials.find(one, asked + milliseconds(100))) << "Redis may admit it";
}

TEST(Denials, HoldUntilALinearLawGivesAUnit) {
  const limit::Law ten_a_second = law(10, second);  // one each 100 ms
  const Charge one{&ten_a_second, "\1k", 1};
  Denials denials;
  EXPECT_FALSE(denials.find(one, asked));
  denials.remember(one, denial(ten_a_second, 10));
  expect_held_for_100_ms(denials, one);
}

TEST(Denials, AreOfNoUseWhileASmallerCostMayPass) {
  const limit::Law ten = law(10, 3600 * second);
  Denials denials;
  denials.remember({&ten, "\1k", 5}, denial(ten, 8));
  EXPECT_FALSE(denials.find({&ten, "\1k", 5}, asked)) << "others may take the two units";
  denials.remember({&ten, "\1k", 5}, denial(ten, 10));
  for (const std::uint64_t cost : {1, 5, 10}) {
    const auto found = denials.find({&ten, "\1k", cost}, asked + milliseconds(20));
    ASSERT_TRUE(found) << cost;
    EXPECT_EQ(found->wait, 360 * second * cost) << cost;
  }
  EXPECT_EQ(denials.find({&ten, "\1k", 11}, asked)->wait, limit::Decision::never);
  EXPECT_FALSE(denials.find({&ten, "\1k", 0}, asked)) << "passes";
}

TEST(Denials, HoldUnderTheirLawAlone) {
  const limit::Law ten = law(10, 3600 * second);
  const limit::Law twenty = law(20, 3600 * second);
  const limit::Law window = law(10, 3600 * second, Algorithm::fixed_window);
  Denials denials;
  denials.remember({&ten, "\1k", 1}, denial(ten, 10));
  EXPECT_FALSE(denials.find({&ten, "\1other", 1}, asked));
  EXPECT_FALSE(denials.find({&twenty, "\1k", 1}, asked)) << "may have more units";
  denials.remember({&window, "\1k", 1}, denial(window, 10));
  denials.remember({&twenty, "\1k", 1}, denial(twenty, 20));
  for (const limit::Law* each : {&ten, &twenty, &window}) {
    EXPECT_TRUE(denials.find({each, "\1k", 1}, asked)) << "as requests of several laws come";
  }
  denials.forget("\1k");
  for (const limit::Law* each : {&ten, &twenty, &window}) {
    EXPECT_FALSE(denials.find({each, "\1k", 1}, asked));
  }
}

TEST(Denials, HoldUnderEveryLaw) {
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
        Algorithm::sliding_window_counter, Algorithm::moving_window}) {
    const limit::Law hour = law(10, 3600 * second, algorithm);
    Denials denials;
    denials.remember({&hour, "\1k", 1}, denial(hour, 10));
    const auto found = denials.find({&hour, "\1k", 1}, asked + milliseconds(500));
    ASSERT_TRUE(found) << static_cast<int>(algorithm);
    EXPECT_EQ(found->remaining, 0U);
  }
}

TEST(Denials, WithoutAStateHoldForOneUnitUnderTheSameLaw) {
  const limit::Law ten_a_second = law(10, second);
  const limit::Law twenty_a_second = law(20, second);
  const Charge one{&ten_a_second, "\1k", 1};
  Denials denials;
  denials.remember(one, {{}, decided, asked, asked + milliseconds(20), 100'000'000});
  expect_held_for_100_ms(denials, one);
  EXPECT_FALSE(denials.find({&ten_a_second, "\1k", 2}, asked)) << "its wait is not known";
  EXPECT_FALSE(denials.find({&twenty_a_second, "\1k", 1}, asked)) << "it may admit";
}

TEST(Denials, AreForgottenAfterASecondAndWhenUnitsComeBack) {
  const limit::Law hour = law(10, 3600 * second);
  const Charge one{&hour, "\1k", 1};
  Denials denials;
  denials.remember(one, denial(hour, 10));
  EXPECT_TRUE(denials.find(one, asked + Denials::kept));
  EXPECT_FALSE(denials.find(one, asked + Denials::kept + milliseconds(1)));
  denials.forget("\1k");
  EXPECT_FALSE(denials.find(one, asked));
}

TEST(Denials, TakeNoMoreRoomThanTheirs) {
  const limit::Law hour = law(10, 3600 * second);
  const Denials::Denial each = denial(hour, 10);
  Denials denials;
  std::string first;
  std::string last;
  for (int i = 0; i < 200'000; ++i) {
    last = "\6client" + std::to_string(i);
    if (first.empty()) first = last;
    denials.remember({&hour, last, 1}, each);
  }
  EXPECT_FALSE(denials.find({&hour, first, 1}, asked));
  EXPECT_TRUE(denials.find({&hour, last, 1}, asked));
}

}  // namespace
}  // namespace headgate::redis
