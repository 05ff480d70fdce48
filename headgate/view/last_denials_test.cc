#include "headgate/view/last_denials.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace headgate::view {
namespace {

constexpr Hash128 ann{17, 4};
constexpr Hash128 bob{17, 5};  // has the same places

LastDenial denial(std::int64_t at, std::uint64_t cost = 1) {
  return {{at}, cost, 2, 3, std::uint64_t{4}, true};
}

TEST(LastDenials, RemembersTheLastOneOfEachPartition) {
  const auto denials = std::make_unique<LastDenials>();
  EXPECT_EQ(denials->find(ann), std::nullopt);
  EXPECT_EQ(denials->find({0, 0}), std::nullopt) << "an entry that is not used";
  denials->note(ann, denial(10));
  denials->note(bob, {{11}, 5, 0, 0, std::nullopt, false});
  denials->note(ann, denial(12, 7));
  EXPECT_EQ(denials->find(ann), denial(12, 7));
  EXPECT_EQ(denials->find(bob)->wait, std::nullopt);
  EXPECT_FALSE(denials->find(bob)->enforced);
}

TEST(LastDenials, ForgetsTheOldestFirst) {
  const auto denials = std::make_unique<LastDenials>();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    denials->note({17, i}, denial(static_cast<std::int64_t>(i)));
    denials->note({17, 1}, denial(100));
  }
  EXPECT_TRUE(denials->find({17, 1}));
  EXPECT_FALSE(denials->find({17, 2}));
  EXPECT_TRUE(denials->find({17, 5}));
  for (std::uint64_t i = 0; i < LastDenials::capacity; ++i) denials->note({i, 9}, denial(200));
  EXPECT_TRUE(denials->find({0, 9}));
}

TEST(LastDenials, TheLaterOneOfTwoCounts) {
  EXPECT_EQ(later(std::nullopt, std::nullopt), std::nullopt);
  EXPECT_EQ(later(denial(1), std::nullopt), denial(1));
  EXPECT_EQ(later(std::nullopt, denial(1)), denial(1));
  EXPECT_EQ(later(denial(1), denial(2)), denial(2));
  EXPECT_EQ(later(denial(2), denial(1)), denial(2));
}

TEST(LastDenials, ReadersSeeWholeEntries) {
  const auto denials = std::make_unique<LastDenials>();
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
      denials->note(i % 2 == 0 ? ann : bob,
                    {{static_cast<std::int64_t>(i)}, i, i, i, i, i % 2 == 0});
    }
  });
  for (bool is_over = false; !is_over;) {
    const auto seen = denials->find(ann);
    if (!seen) continue;
    const auto at = static_cast<std::uint64_t>(seen->at.ns);
    ASSERT_EQ(*seen, (LastDenial{{seen->at.ns}, at, at, at, at, true}));
    is_over = at == 20'000;
  }
  writer.join();
}

}  // namespace
}  // namespace headgate::view
