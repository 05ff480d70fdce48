// Processes that are killed while they change a ledger's page leave no page locked, no key blocked
// and no units beyond the quota.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "headgate/store/table.h"
#include "headgate/store/testing/killing.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Law;

constexpr std::size_t keys = 8;
constexpr std::uint64_t quota = 500;
constexpr Nanos window = 3000 * nanos_per_second;
constexpr std::array algorithms{Algorithm::exponential, Algorithm::fixed_window,
                                Algorithm::moving_window, Algorithm::sliding_window_counter,
                                Algorithm::concurrency};

Law law(Algorithm algorithm) {
  // A log of a few dozen records: its blocks are allocated, merged and freed all the time.
  return limit::make_law({quota, window}, {.algorithm = algorithm, .log = 50, .lease = window})
      .value();
}

struct Tally {
  std::array<std::array<std::atomic<std::uint64_t>, keys>, algorithms.size()> admitted;
  std::atomic<std::uint64_t> progress;
};

Decision take(Table& table, const Law& law, const std::string& key, std::uint64_t cost, Instant now,
              limit::Op op = limit::Op::spend) {
  const Charge charge{.law = &law, .key = key, .cost = cost, .op = op};
  Decision decision;
  Bundle bundle{{&charge, 1}, {&decision, 1}};
  table.take({&bundle, 1}, now, {});
  return decision;
}

std::string name(std::size_t algorithm, std::size_t key) {
  return std::to_string(algorithm) + "/" + std::to_string(key);
}

[[noreturn]] void hammer(Table& table, Tally& tally, Instant now, std::uint64_t seed) {
  std::vector<Law> laws;
  for (const Algorithm algorithm : algorithms) laws.push_back(law(algorithm));
  const Law brief =
      limit::make_law({quota, 100}, {.algorithm = Algorithm::moving_window, .log = 50}).value();
  for (;;) {
    const std::size_t i = next(seed) % laws.size();
    const std::size_t key = next(seed) % keys;
    // Time advances, so that logs have more than one record.
    const Instant at{now.ns + static_cast<Nanos>(tally.progress.load())};
    if (take(table, laws[i], name(i, key), 1, at).admitted) tally.admitted[i][key].fetch_add(1);
    // Other keys of the same pages, which are inserted and expire, and their blocks with them.
    const std::string churn = "c" + std::to_string(next(seed) % 500);
    take(table, brief, churn, 1, at);
    take(table, laws[4], churn, 1, at);
    take(table, laws[4], churn, 1, at, limit::Op::refund);
    tally.progress.fetch_add(1);
  }
}

TEST(LedgerKill, ProcessesKilledInTheMiddleBreakNothing) {
  if (!locks_heal()) GTEST_SKIP() << no_locks_heal;
  // Its processes pass all times, which do not go on while they work.
  auto table =
      Table::open({.memory = 1024 * 1024, .ledger_share = 56, .clock = &ClockSource::still()})
          .value();
  const Instant now = table->now();
  void* memory =
      mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Tally& tally = *new (memory) Tally{};

  kill_in_the_middle(300, 100, tally.progress,
                     [&](std::uint64_t seed) { hammer(*table, tally, now, seed); });
  if (HasFatalFailure()) return;

  const Instant end{now.ns + static_cast<Nanos>(tally.progress.load())};
  const Instant later{now.ns + 100 * window};
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const Law the_law = law(algorithms[i]);
    for (std::size_t key = 0; key < keys; ++key) {
      const std::uint64_t left =
          take(*table, the_law, name(i, key), 0, end, limit::Op::peek).remaining;
      EXPECT_LE(tally.admitted[i][key].load() + left, quota)
          << "units beyond the quota of " << name(i, key);
      EXPECT_GT(tally.admitted[i][key].load(), 0u) << name(i, key);
      EXPECT_TRUE(take(*table, the_law, name(i, key), quota, later).admitted)
          << name(i, key) << " is blocked";
      EXPECT_FALSE(take(*table, the_law, name(i, key), 1, later).admitted)
          << name(i, key) << " has lost its state";
    }
  }
  const TableStats stats = table->stats();
  EXPECT_EQ(stats.unkept, 0u) << "there was room for every key";
  munmap(memory, sizeof(Tally));
}

}  // namespace
}  // namespace headgate::store
