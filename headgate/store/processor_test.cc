// The steps of this processor, each of its forms and all of them mixed.

#include "headgate/store/processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace headgate::store {
namespace {

using Words = std::uint64_t[2];
using Swap = bool (*)(Words&, u128, u128);

u128 value(const Words& words) noexcept { return u128{words[1]} << 64 | words[0]; }

// All forms that this processor has.
std::vector<Swap> forms() {
  std::vector<Swap> all{swap_words};
#if defined(__aarch64__)
  all.push_back(swap_words_exclusive);
  if (has_casp) all.push_back(swap_words_lse);
#endif
  return all;
}

TEST(Processor, SwapsOnlyWhatIsExpected) {
  for (const Swap swap : forms()) {
    alignas(16) Words words = {1, 2};
    EXPECT_FALSE(swap(words, u128{2} << 64 | 2, 7)) << "the low word differs";
    EXPECT_FALSE(swap(words, u128{3} << 64 | 1, 7)) << "the high word differs";
    EXPECT_EQ(value(words), u128{2} << 64 | 1);
    EXPECT_TRUE(swap(words, u128{2} << 64 | 1, u128{4} << 64 | 3));
    EXPECT_EQ(value(words), u128{4} << 64 | 3);
  }
}

// Each thread adds 1 to the low word and 3 to the high one. A swap that is not one step loses some
// of it or mixes the words of two moments.
TEST(Processor, NoSwapIsLostWhateverTheForms) {
  constexpr std::uint64_t rounds = 20'000;
  struct alignas(16) Shared {
    Words words = {0, 0};
  } shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::vector<Swap> all = forms();
      const Swap swap = all[static_cast<std::size_t>(i) % all.size()];
      for (std::uint64_t round = 0; round < rounds;) {
        const std::uint64_t low = __atomic_load_n(&shared.words[0], __ATOMIC_SEQ_CST);
        const u128 both = u128{low * 3} << 64 | low;
        if (swap(shared.words, both, u128{low * 3 + 3} << 64 | (low + 1))) {
          ++round;
        } else {
          pause();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.words[0], 4 * rounds);
  EXPECT_EQ(shared.words[1], 12 * rounds);
}

TEST(Processor, NumbersOfThreadsDiffer) {
  // More than a time slice of numbers, so that threads follow each other on a processor. One thread
  // may get a number twice in a row, where the counter is slow.
  constexpr std::size_t count = 50'000;
  std::vector<std::vector<std::uint64_t>> numbers(4);
  std::vector<std::thread> threads;
  for (std::vector<std::uint64_t>& mine : numbers) {
    threads.emplace_back([&mine] {
      for (std::size_t i = 0; i < count; ++i) mine.push_back(unique_number());
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> all;
  for (const auto& mine : numbers) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace headgate::store
