// Processes that are killed at any instruction leave no key blocked and no units beyond the quota.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <string>

#include "headgate/store/table.h"
#include "headgate/store/testing/killing.h"
#include "headgate/store/testing/process_swaps.h"

namespace headgate::store {
namespace {

using limit::Decision;
using limit::Law;

constexpr Nanos second = nanos_per_second;
constexpr std::size_t keys = 64;
constexpr std::uint64_t quota = 5000;  // requests per key

struct Tally {
  // Per key. A process that is killed after its take() has not counted it: at most what was
  // admitted.
  std::array<std::atomic<std::uint64_t>, keys> admitted;
  std::atomic<std::uint64_t> progress;
};

const Law narrow = limit::make_law({2 * quota, 2 * static_cast<Nanos>(quota) * second}, {}).value();

const Law wide = limit::make_law({quota * 7, 3000 * second}, {}).value();

// One request under two policies.
void spend_both(Table& table, Tally& tally, std::size_t key, Instant now) {
  const std::string a = "a" + std::to_string(key);
  const std::string b = "b" + std::to_string(key);
  std::array<Charge, 2> both{{{&narrow, a, 2}, {&wide, b, 7}}};
  std::array<Decision, 2> decisions;
  Bundle bundle{both, decisions};
  table.take({&bundle, 1}, now, {});
  if (bundle.admitted) tally.admitted[key].fetch_add(1);
}

// Spends on random keys under two policies at once, and inserts many other keys into the same few
// buckets, until it is killed.
[[noreturn]] void hammer(Table& table, Tally& tally, Instant now, std::uint64_t seed) {
  for (;;) {
    spend_both(table, tally, next(seed) % keys, now);
    const std::string churn = "c" + std::to_string(next(seed) % 5000);
    for (const Law* law : {&narrow, &wide}) {
      const Charge light{law, churn, 1};
      Decision decision;
      Bundle alone{{&light, 1}, {&decision, 1}};
      table.take({&alone, 1}, now, {});
    }
    tally.progress.fetch_add(1);
  }
}

TEST(TableKill, ProcessesKilledInTheMiddleBreakNothing) {
  if (!swaps_between_processes) GTEST_SKIP() << no_swaps_between_processes;
  auto table = Table::open({.memory = 64 * 1024, .wide_share = 32}).value();
  const Instant now = table->now();
  void* memory =
      mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Tally& tally = *new (memory) Tally{};

  // They are there before the other keys, so that they have a place.
  for (std::size_t key = 0; key < keys; ++key) spend_both(*table, tally, key, now);

  kill_in_the_middle(300, 200, tally.progress,
                     [&](std::uint64_t seed) { hammer(*table, tally, now, seed); });
  if (HasFatalFailure()) return;

  const auto spend = [&](const std::string& key, std::uint64_t cost, Instant at) {
    const Charge charge{&narrow, key, cost};
    Decision decision;
    Bundle bundle{{&charge, 1}, {&decision, 1}};
    table->take({&bundle, 1}, at, {});
    return decision;
  };
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    const std::string key = "a" + std::to_string(i);
    const std::uint64_t left = spend(key, 0, now).remaining;
    EXPECT_LE(2 * tally.admitted[i].load() + left, 2 * quota)
        << "units beyond the quota of " << key;
    total += tally.admitted[i].load();
    const Instant later{now.ns + 2 * static_cast<Nanos>(quota) * second};
    EXPECT_TRUE(spend(key, 2 * quota, later).admitted) << key << " is blocked";
    EXPECT_FALSE(spend(key, 1, later).admitted) << key << " has lost its state";
  }
  EXPECT_GT(total, 0u);
  munmap(memory, sizeof(Tally));
}

}  // namespace
}  // namespace headgate::store
