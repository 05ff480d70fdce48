#include "headgate/sim/log/sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace headgate::sim {
namespace {

using Records = std::vector<std::pair<std::int64_t, std::string>>;

Records sorted(const Records& records, std::size_t memory) {
  Sorter sorter(memory);
  for (const auto& [key, record] : records) {
    const auto added = sorter.add(key, record);
    EXPECT_TRUE(added) << added.error();
  }
  sorter.finish();
  EXPECT_EQ(sorter.size(), records.size());
  Records first;
  for (int i = 0; i < 2; ++i) {  // any number of passes
    Records out;
    Sorter::Pass pass(sorter);
    std::int64_t key = 0;
    for (std::string_view record; pass.next(key, record);) out.emplace_back(key, record);
    EXPECT_EQ(pass.error(), "");
    if (i == 0) first = out;
    EXPECT_EQ(out, first);
  }
  return first;
}

TEST(SorterTest, EqualKeysKeepTheirOrderWithAnyMemory) {
  std::mt19937_64 random(1);
  Records records;
  for (int i = 0; i < 5000; ++i) {
    records.emplace_back(static_cast<std::int64_t>(random() % 100) - 50,
                         std::to_string(i) + std::string(random() % 200, 'x'));
  }
  Records expected = records;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const std::size_t memory :
       {std::size_t{10'000}, std::size_t{100'000}, Sorter::memory_usual}) {
    EXPECT_EQ(sorted(records, memory), expected) << memory;
  }
}

TEST(SorterTest, OneRecordMayBeLargerThanTheMemory) {
  const Records records{{2, std::string(70'000, 'a')}, {1, std::string(90'000, 'b')}, {1, "c"}};
  const Records expected{records[1], records[2], records[0]};
  EXPECT_EQ(sorted(records, 100), expected);
}

TEST(SorterTest, SortsNoRecords) { EXPECT_TRUE(sorted({}, 1000).empty()); }

}  // namespace
}  // namespace headgate::sim
