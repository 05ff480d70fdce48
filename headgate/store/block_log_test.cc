#include "headgate/store/block_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "headgate/limit/testing/vector_log.h"

namespace headgate::store {
namespace {

constexpr std::uint32_t entries = 64;
constexpr std::uint32_t blocks = 40;
constexpr EntryTag mine = 0x100 | log_kind;
constexpr EntryTag other = 0x200 | log_kind;
constexpr Instant noon{1000};

// Has one page.
class BlockLogTest : public testing::Test {
 protected:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_ = std::vector<Line>(Page::bytes(entries, blocks) / sizeof(Line));
  Page page_{reinterpret_cast<std::byte*>(memory_.data()), entries, blocks};

  // Runs `change(log)` between Page::begin() and Page::commit(), as the ledger does.
  template <class Change>
  void change(EntryTag owner, std::uint32_t at, Change change) {
    LogState state;
    if (page_.tag(at) == owner) std::memcpy(&state, page_.entry(at).state, sizeof state);
    page_.begin(at);
    BlockLog log(page_, owner, at, state, noon);
    change(log);
    Entry entry{.times = Entry::end_of_time, .state = {}};
    state = log.state();
    std::memcpy(entry.state, &state, sizeof state);
    page_.write(at, owner, entry);
    page_.commit(at);
  }
};

TEST_F(BlockLogTest, IsAListOfRecords) {
  std::mt19937_64 random(7);
  limit::VectorLog truth;
  for (int round = 0; round < 200'000; ++round) {
    change(mine, 3, [&](BlockLog& log) {
      const std::size_t size = truth.size();
      ASSERT_EQ(log.size(), size);
      ASSERT_EQ(log.units(), truth.units());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(log.get(i), truth.get(i)) << i;
      for (int k = 0; k < 3 && size > 0; ++k) {
        const std::size_t i = random() % size;
        ASSERT_EQ(log.get(i), truth.get(i)) << i;
      }
      const limit::Record record{static_cast<std::int64_t>(random() % 1000), random() % 100 + 1};
      for (int steps = static_cast<int>(random() % 3); steps >= 0; --steps) {
        const std::size_t now = truth.size();
        switch (random() % 6) {
          case 0:
          case 1:
            if (now < 7 * (blocks - 4)) {
              ASSERT_TRUE(log.append(record));
              truth.append(record);
            }
            break;
          case 2:
            if (random() % 8 == 0) {
              const std::size_t n = random() % (now + 1);
              log.drop_oldest(n);
              truth.drop_oldest(n);
            } else if (now < 7 * (blocks - 4)) {
              ASSERT_TRUE(log.append(record));
              truth.append(record);
            }
            break;
          case 3:
            if (now == 0) break;
            log.set(record.cost % now, record);
            truth.set(record.cost % now, record);
            break;
          default:
            if (now == 0) break;
            const std::size_t i = random() % now;
            const std::size_t end = random() % 4 == 0 ? i + random() % (now - i + 1) : i + 1;
            log.erase(i, end);
            truth.erase(i, end);
            if (random() % 2 == 0) {
              ASSERT_TRUE(log.append(record));
              truth.append(record);
            }
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST_F(BlockLogTest, IsEmptyIfItsStateIsDamaged) {
  change(mine, 3, [](BlockLog& log) {
    for (std::uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(log.append({i, 1}));
  });
  LogState state;
  std::memcpy(&state, page_.entry(3).state, sizeof state);
  EXPECT_EQ(BlockLog(page_, mine, 3, state, noon).size(), 20u);
  LogState far = state;
  far.first = Block::records_max;
  EXPECT_EQ(BlockLog(page_, mine, 3, far, noon).size(), 0u);
  LogState large = state;
  large.size = 7 * blocks + 1;
  EXPECT_EQ(BlockLog(page_, mine, 3, large, noon).size(), 0u);
}

TEST_F(BlockLogTest, FreesBlocksThatItNoLongerNeeds) {
  for (int round = 0; round < 100; ++round) {
    for (const EntryTag owner : {mine, other}) {
      const auto at = static_cast<std::uint32_t>(owner >> 8);
      change(owner, at, [](BlockLog& log) {
        for (std::uint32_t i = 0; i < 7 * (blocks / 2) - 1; ++i) ASSERT_TRUE(log.append({i, 1}));
      });
      if (HasFatalFailure()) return;
    }
    change(mine, 1, [](BlockLog& log) { EXPECT_TRUE(log.append({0, 1})) << "room in the last"; });
    for (const EntryTag owner : {mine, other}) {
      change(owner, static_cast<std::uint32_t>(owner >> 8),
             [](BlockLog& log) { log.drop_oldest(log.size()); });
    }
  }
}

}  // namespace
}  // namespace headgate::store
