// A table that grows: no key loses its state or gets a second one, whatever else happens meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "headgate/base/testing/temporary_directory.h"
#include "headgate/store/table.h"
#include "headgate/store/testing/killing.h"
#include "headgate/store/testing/process_swaps.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Law;
using testing::HasSubstr;

constexpr std::size_t kib = 1024;
constexpr Nanos second = nanos_per_second;
constexpr Nanos window = 3000 * second;

// One of every kind of state: narrow cells, wide cells, words and logs in the ledger.
std::vector<Law> every_law(std::uint64_t quota) {
  std::vector<Law> laws{limit::make_law({quota, window}, {}).value(),
                        limit::make_law({quota, window + 1}, {}).value()};
  for (const Algorithm algorithm :
       {Algorithm::exponential, Algorithm::fixed_window, Algorithm::moving_window,
        Algorithm::sliding_window_counter, Algorithm::concurrency}) {
    laws.push_back(
        limit::make_law({quota, window}, {.algorithm = algorithm, .lease = window}).value());
  }
  return laws;
}

TableOptions options(std::size_t memory, const std::string& file = {}) {
  return {.memory = memory,
          .file = file,
          .wide_share = 16,
          .ledger_share = 32,
          .clock = &ClockSource::still()};
}

Decision take(Table& table, const Law& law, const std::string& key, Instant now,
              limit::Op op = limit::Op::spend) {
  const Charge charge{.law = &law, .key = key, .cost = 1, .op = op};
  Decision decision;
  Bundle bundle{{&charge, 1}, {&decision, 1}};
  table.take({&bundle, 1}, now, {});
  return decision;
}

// Each law has keys of its own: the same key under another linear law is a policy that was changed.
std::string key_of(std::size_t law, int i) { return std::to_string(law) + "/" + std::to_string(i); }

class Growth : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("table");
};

// A table that has grown answers every request as one does that had the last size from the start.
TEST_F(Growth, ChangesNoDecision) {
  const std::vector<Law> laws = every_law(5);
  for (const std::string& file : {std::string(), path_}) {
    const auto grows = Table::open(options(64 * kib, file)).value();
    const auto large = Table::open(options(1024 * kib)).value();
    std::uint64_t random = 88172645463325252;
    Instant now{7200 * second};
    for (int i = 0; i < 40'000; ++i) {
      // So many that a small table could not keep all of the later ones.
      const std::size_t keys = 12 + static_cast<std::size_t>(i) / 400;
      const std::size_t law = next(random) % laws.size();
      const std::string key = key_of(law, static_cast<int>(next(random) % keys));
      const limit::Op op = static_cast<limit::Op>(next(random) % 4);
      // All of it is less than a window: a key that lost its place would begin anew.
      now.ns += static_cast<std::int64_t>(next(random) % (second / 20));
      const Decision one = take(*grows, laws[law], key, now, op);
      const Decision two = take(*large, laws[law], key, now, op);
      ASSERT_EQ(one, two) << "step " << i << ", law " << law << ", key " << key;
      if (i % 10'000 == 9'999) {
        const std::size_t memory = (64 + 240 * static_cast<std::size_t>(i / 10'000 + 1)) * kib;
        const auto grown = grows->grow(options(memory));
        ASSERT_TRUE(grown) << grown.error();
        EXPECT_EQ(grows->stats().memory, memory);
      }
    }
    EXPECT_EQ(grows->stats().unkept, 0u) << "else the comparison would say nothing";
    EXPECT_EQ(grows->stats().live(), large->stats().live());
  }
}

TEST_F(Growth, GivesNewKeysAPlace) {
  for (const Law& law : every_law(5)) {
    const auto table = Table::open(options(64 * kib)).value();
    const Instant now = table->now();
    int keys = 0;
    // Adds keys until half of the last ones have no place. Returns how many there are.
    const auto fill = [&] {
      for (;;) {
        const std::uint64_t unkept = table->stats().unkept;
        for (int i = 0; i < 100; ++i) take(*table, law, std::to_string(keys++), now);
        if (table->stats().unkept >= unkept + 50) return keys;
      }
    };
    const int before = fill();
    ASSERT_TRUE(table->grow(options(1024 * kib)));
    EXPECT_GT(fill(), before * 4);
  }
}

// Threads take all units of many keys while the table grows under them.
TEST_F(Growth, AdmitsExactlyTheQuotaMeanwhile) {
  constexpr std::uint64_t quota = 3;
  constexpr int keys = 300;
  const std::vector<Law> laws = every_law(quota);
  for (int round = 0; round < 20; ++round) {
    const auto table = Table::open(options(64 * kib)).value();
    const Instant now = table->now();
    std::vector<std::atomic<std::uint64_t>> admitted(laws.size() * keys);
    std::atomic<int> progress{0};
    std::vector<std::thread> threads;
    for (unsigned worker = 0; worker < 3; ++worker) {
      threads.emplace_back([&] {
        for (int i = 0; i < keys; ++i) {
          for (std::size_t law = 0; law < laws.size(); ++law) {
            const std::string key = key_of(law, i);
            for (std::uint64_t n = 0; n <= quota; ++n) {
              if (take(*table, laws[law], key, now).admitted) ++admitted[law * keys + i];
            }
          }
          ++progress;
        }
      });
    }
    for (std::size_t step = 1; step <= 5; ++step) {
      while (progress.load() < static_cast<int>(step) * 3 * keys / 7) std::this_thread::yield();
      ASSERT_TRUE(table->grow(options((64 + 200 * step) * kib)));
    }
    for (std::thread& thread : threads) thread.join();
    const std::uint64_t unkept = table->stats().unkept;
    for (std::size_t i = 0; i < admitted.size(); ++i) {
      ASSERT_LE(admitted[i].load(), quota) << "round " << round << ", key " << i;
      if (unkept > 0) continue;
      ASSERT_EQ(admitted[i].load(), quota) << "round " << round << ", key " << i;
    }
  }
}

// What a process finds in memory that it got before another process made the table grow.
TEST_F(Growth, ReachesProcessesThatHaveTheTable) {
  if (!swaps_between_processes) GTEST_SKIP() << no_swaps_between_processes;
  const std::vector<Law> laws = every_law(5);
  for (const std::string& file : {std::string(), path_}) {
    const auto table = Table::open(options(64 * kib, file)).value();
    const auto second_user = file.empty() ? nullptr : Table::open(options(64 * kib, file)).value();
    Table& other = second_user ? *second_user : *table;
    const Instant now = table->now();
    // What keys have left that take a unit each.
    const auto left = [&](Table& mine) {
      std::set<std::uint64_t> remaining;
      for (int i = 0; i < 2000; ++i) {
        for (std::size_t law = 0; law < laws.size(); ++law) {
          remaining.insert(take(mine, laws[law], key_of(law, i), now).remaining);
        }
      }
      return remaining;
    };
    int grown[2];
    ASSERT_EQ(pipe(grown), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(grown[1]);
      char byte = 0;
      if (read(grown[0], &byte, 1) != 1) _exit(2);
      _exit(left(*table) == std::set<std::uint64_t>{3} ? 0 : 1);
    }
    close(grown[0]);
    const auto done = other.grow(options(4096 * kib));
    EXPECT_TRUE(done) << done.error();
    EXPECT_EQ(left(other), std::set<std::uint64_t>{4});
    EXPECT_EQ(write(grown[1], "g", 1), 1);
    close(grown[1]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(left(other), std::set<std::uint64_t>{2}) << "the child's units count here";
  }
}

TEST_F(Growth, OfAFileLastsAndIsAskedForByOpening) {
  const std::vector<Law> laws = every_law(5);
  const Instant now{7200 * second};
  for (std::uint64_t opening = 0; opening < 4; ++opening) {
    const std::size_t memory = (64 << opening) * kib;
    const auto table = Table::open(options(memory, path_));
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ((*table)->stats().memory, memory);
    EXPECT_EQ(std::filesystem::file_size(path_), memory);
    for (std::size_t law = 0; law < laws.size(); ++law) {
      EXPECT_EQ(take(**table, laws[law], key_of(law, 0), now).remaining, 4 - opening);
    }
  }
  TableOptions as_it_is = options(1024 * kib, path_);
  as_it_is.grow = false;
  EXPECT_EQ(Table::open(as_it_is).value()->stats().memory, 512 * kib);
}

// So the former configuration can be put in force again after the table has grown.
TEST_F(Growth, OfAFileMayBeMoreThanIsAskedFor) {
  const std::vector<Law> laws = every_law(5);
  const Instant now{7200 * second};
  std::uint64_t left = 5;
  for (const std::size_t memory : {512 * kib, 64 * kib, 256 * kib}) {
    const auto table = Table::open(options(memory, path_));
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ((*table)->stats().memory, 512 * kib);
    EXPECT_TRUE((*table)->grow(options(128 * kib, path_)));
    EXPECT_EQ((*table)->stats().memory, 512 * kib);
    --left;
    for (std::size_t law = 0; law < laws.size(); ++law) {
      EXPECT_EQ(take(**table, laws[law], key_of(law, 0), now).remaining, left);
    }
  }
}

// Wherever a process is killed that makes a file grow, the next one opens the file with all states,
// and can make it grow.
TEST_F(Growth, SurvivesKills) {
  if (!locks_heal()) GTEST_SKIP() << no_locks_heal;
  if (!swaps_between_processes) GTEST_SKIP() << no_swaps_between_processes;
  const std::vector<Law> laws = every_law(5);
  const Instant now{7200 * second};
  std::uint64_t random = 88172645463325252;
  int unfinished = 0;
  for (int round = 0; round < 100; ++round) {
    std::filesystem::remove(path_);
    {
      const auto table = Table::open(options(64 * kib, path_)).value();
      for (std::size_t law = 0; law < laws.size(); ++law) {
        take(*table, laws[law], key_of(law, 0), now);
      }
    }
    int begins[2];
    ASSERT_EQ(pipe(begins), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto table = Table::open(options(64 * kib, path_)).value();
      if (write(begins[1], "b", 1) != 1) _exit(1);
      for (std::size_t size = 80; size < 1024; size += 140) {
        if (!table->grow(options(size * kib))) _exit(1);
      }
      _exit(0);
    }
    close(begins[1]);
    char byte = 0;
    EXPECT_EQ(read(begins[0], &byte, 1), 1);
    close(begins[0]);
    for (std::uint64_t spin = next(random) % 500'000; spin > 0; --spin) asm volatile("");
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) ++unfinished;
    const auto table = Table::open(options(4096 * kib, path_));
    if (!table) {
      ASSERT_THAT(table.error(), HasSubstr("7 times already"));
      continue;
    }
    for (std::size_t law = 0; law < laws.size(); ++law) {
      ASSERT_EQ(take(**table, laws[law], key_of(law, 0), now).remaining, 3u);
    }
  }
  EXPECT_GT(unfinished, 0);
}

TEST_F(Growth, IsRefusedWithAReason) {
  const auto table = Table::open(options(64 * kib)).value();
  const auto refusal = [&](std::size_t memory) {
    const auto grown = table->grow(options(memory));
    return grown ? std::string() : grown.error();
  };
  EXPECT_EQ(refusal(64 * kib), "");
  EXPECT_EQ(refusal(68 * kib),
            "the table: has 65536 bytes and cannot get 69632: it can grow by at least 12288 bytes");
  EXPECT_THAT(refusal(64 * 64 * kib + 4096), HasSubstr("it can grow to at most 4194304 bytes"));
  for (std::size_t i = 1; i <= 7; ++i) EXPECT_EQ(refusal((64 + 12 * i) * kib), "");
  EXPECT_THAT(refusal(1024 * kib), HasSubstr("it has grown 7 times already"));
  EXPECT_EQ(table->stats().memory, (64 + 84) * kib);
}

}  // namespace
}  // namespace headgate::store
