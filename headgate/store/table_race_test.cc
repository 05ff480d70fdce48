// Threads and processes that spend on one key at the same instant get exactly its quota. The key is
// inserted in every round.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "headgate/store/table.h"
#include "headgate/store/testing/process_swaps.h"

namespace headgate::store {
namespace {

using limit::Algorithm;
using limit::Decision;
using limit::Law;

constexpr Nanos second = nanos_per_second;
constexpr int workers = 4;
constexpr int rounds = 1000;

Law law(std::uint64_t quota, Nanos window, Algorithm algorithm = Algorithm::linear) {
  return limit::make_law({quota, window}, {.algorithm = algorithm}).value();
}

// What the workers share. It is in shared memory, because they may be processes.
struct Arena {
  std::atomic<int> arrived;
  std::array<std::atomic<std::uint64_t>, rounds> admitted;

  // A spinning barrier: the nth call returns when every worker has made its nth call.
  void meet(int n) noexcept {
    arrived.fetch_add(1);
    while (arrived.load() < n * workers) sched_yield();
  }
};

template <class T>
T* shared() {
  void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : new (at) T{};
}

enum class Crew { threads, processes };

// Runs `work(worker)` in every worker of the crew, and waits.
void run(Crew crew, const std::function<void(int)>& work) {
  if (crew == Crew::threads) {
    std::vector<std::thread> pool;
    for (int i = 0; i < workers; ++i) pool.emplace_back(work, i);
    for (std::thread& thread : pool) thread.join();
    return;
  }
  std::vector<pid_t> children;
  for (int i = 0; i < workers; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      work(i);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

struct Race {
  struct Policy {
    std::uint64_t quota;
    Nanos window;
    Algorithm algorithm = Algorithm::linear;
  };
  const char* name;
  Crew crew;
  std::vector<Policy> policies;  // of each request
  std::uint64_t admitted;        // requests per round
};

void PrintTo(const Race& race, std::ostream* out) { *out << race.name; }

class TableRace : public testing::TestWithParam<Race> {};

TEST_P(TableRace, AdmitsExactlyTheQuota) {
  const Race& race = GetParam();
  if (race.crew == Crew::processes && !swaps_between_processes) {
    GTEST_SKIP() << no_swaps_between_processes;
  }
  auto table = Table::open({.memory = 2048 * 1024, .wide_share = 8, .ledger_share = 48}).value();
  const Instant now = table->now();
  std::vector<Law> laws;
  for (const auto& [quota, window, algorithm] : race.policies) {
    laws.push_back(law(quota, window, algorithm));
  }
  Arena* arena = shared<Arena>();
  ASSERT_NE(arena, nullptr);

  run(race.crew, [&](int) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::string> keys;
      std::vector<Charge> charges;
      for (std::size_t i = 0; i < laws.size(); ++i) {
        keys.push_back(std::to_string(i) + "/" + std::to_string(round));
      }
      for (std::size_t i = 0; i < laws.size(); ++i) charges.push_back({&laws[i], keys[i], 1});
      std::vector<Decision> decisions(charges.size());
      arena->meet(round + 1);
      for (std::uint64_t i = 0; i < race.admitted; ++i) {
        Bundle bundle{charges, decisions};
        table->take({&bundle, 1}, now, {});
        if (bundle.admitted) arena->admitted[static_cast<std::size_t>(round)].fetch_add(1);
      }
    }
  });
  for (std::size_t round = 0; round < rounds; ++round) {
    EXPECT_EQ(arena->admitted[round].load(), race.admitted) << "round " << round;
  }
  munmap(arena, sizeof(Arena));
}

// A reload: some workers count in sevenths, some in elevenths, some in thirteenths.
TEST(TableRace, QuotasThatChangeNeverGrantMore) {
  auto table = Table::open({.memory = 256 * 1024, .wide_share = 32}).value();
  const Instant now = table->now();
  const std::uint64_t quotas[workers] = {7, 11, 7, 13};
  std::array<std::array<std::atomic<std::uint64_t>, workers>, rounds> taken{};
  Arena arena{};
  run(Crew::threads, [&](int worker) {
    const auto self = static_cast<std::size_t>(worker);
    const Law mine = law(quotas[self], 60 * second);
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::string key = std::to_string(round);
      arena.meet(static_cast<int>(round) + 1);
      for (int i = 0; i < 12; ++i) {
        const Charge charge{&mine, key, 1};
        Decision decision;
        Bundle bundle{{&charge, 1}, {&decision, 1}};
        table->take({&bundle, 1}, now, {});
        if (decision.admitted) taken[round][self].fetch_add(1);
      }
    }
  });
  for (std::size_t round = 0; round < rounds; ++round) {
    std::uint64_t parts = 0;  // used, in 1001sts of the window (1001 = 7 * 11 * 13)
    for (std::size_t i = 0; i < workers; ++i) parts += taken[round][i].load() * 1001 / quotas[i];
    EXPECT_LE(parts, 1001u) << "round " << round;
    EXPECT_GT(parts, 1001u - 143u) << "round " << round << ": a seventh would have fitted";
  }
}

// Some workers find no place for the key and charge the sketch. For the others, whose clock is a
// nanosecond ahead, a cell has become free: they insert the key.
TEST(TableRace, AKeyThatGetsAPlaceTakesAlongWhatItOwes) {
  constexpr std::uint64_t quota = 20;
  auto table = Table::open({.memory = 64 * 1024, .wide_share = 16, .ledger_share = 16}).value();
  const Law brief = law(1, second);
  const Law slow = law(quota, 1000 * second);
  const Instant begin = table->now();
  const auto admits = [&](const Law& the_law, const std::string& key, Instant now) {
    const Charge charge{&the_law, key, 1};
    Decision decision;
    Bundle bundle{{&charge, 1}, {&decision, 1}};
    table->take({&bundle, 1}, now, {});
    return decision.admitted;
  };
  for (std::uint64_t i = 0; i < 4 * table->stats().cells(); ++i) {
    admits(brief, "brief" + std::to_string(i), begin);
  }
  // Their quota is full after a second, and they are kept for 2^30 ns more.
  const Instant free{begin.ns + second + (Nanos{1} << 30)};
  Arena arena{};
  run(Crew::threads, [&](int worker) {
    const Instant mine{free.ns - worker % 2};
    for (int round = 0; round < rounds; ++round) {
      const std::string key = std::to_string(round);
      arena.meet(round + 1);
      for (std::uint64_t i = 0; i < quota; ++i) {
        if (admits(slow, key, mine)) arena.admitted[static_cast<std::size_t>(round)].fetch_add(1);
      }
    }
  });
  for (std::size_t round = 0; round < rounds; ++round) {
    EXPECT_LE(arena.admitted[round].load(), quota) << "round " << round;
  }
}

constexpr Nanos minute = 60 * second;
INSTANTIATE_TEST_SUITE_P(
    All, TableRace,
    testing::Values(
        Race{"threads_narrow", Crew::threads, {{20, minute}}, 20},
        Race{"threads_wide", Crew::threads, {{19, minute}}, 19},
        Race{"threads_three_policies",
             Crew::threads,
             {{60, minute}, {17, minute}, {20, minute}},
             17},
        Race{"processes_narrow", Crew::processes, {{20, minute}}, 20},
        Race{"processes_wide", Crew::processes, {{19, minute}}, 19},
        Race{"processes_three_policies",
             Crew::processes,
             {{60, minute}, {20, minute}, {17, minute}},
             17},
        Race{"threads_fixed_window", Crew::threads, {{20, minute, Algorithm::fixed_window}}, 20},
        Race{"threads_moving_window", Crew::threads, {{20, minute, Algorithm::moving_window}}, 20},
        Race{"threads_every_law",
             Crew::threads,
             {{60, minute},
              {22, minute, Algorithm::exponential},
              {21, minute, Algorithm::moving_window},
              {20, minute, Algorithm::sliding_window_counter},
              {19, minute, Algorithm::fixed_window},
              {18, minute, Algorithm::concurrency}},
             18},
        Race{"processes_sliding_window_counter",
             Crew::processes,
             {{20, minute, Algorithm::sliding_window_counter}},
             20},
        Race{"processes_exponential", Crew::processes, {{20, minute, Algorithm::exponential}}, 20},
        Race{"processes_every_law",
             Crew::processes,
             {{18, minute, Algorithm::concurrency},
              {19, minute, Algorithm::fixed_window},
              {60, minute},
              {20, minute, Algorithm::moving_window},
              {17, minute},
              {21, minute, Algorithm::sliding_window_counter},
              {22, minute, Algorithm::exponential}},
             17}),
    [](const auto& the) { return std::string(the.param.name); });

}  // namespace
}  // namespace headgate::store
