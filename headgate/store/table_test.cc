// What the table promises beyond the Store contract: capacity, eviction and counters.

#include "headgate/store/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace headgate::store {
namespace {

using limit::Decision;
using limit::Denied;
using limit::Law;
using limit::Op;

constexpr Nanos second = nanos_per_second;

Law law(std::uint64_t quota, Nanos window, limit::Terms terms = {}) {
  return limit::make_law({quota, window}, terms).value();
}

std::unique_ptr<Table> open(const TableOptions& options) {
  auto table = Table::open(options);
  EXPECT_TRUE(table.has_value()) << table.error();
  return std::move(*table);
}

Decision take(Table& table, const Law& law, const std::string& key, std::uint64_t cost, Instant now,
              Op op = Op::spend) {
  const Charge charge{&law, key, cost, op};
  Decision decision;
  Bundle bundle{{&charge, 1}, {&decision, 1}};
  table.take({&bundle, 1}, now, {});
  return decision;
}

TEST(Table, RefusesTooLittleMemory) {
  const auto table = Table::open({.memory = 4096});
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error(), "a table needs at least 16384 bytes of memory");
}

// The same load as ten million keys in 256 MiB, at a sixteenth of the size.
TEST(Table, HoldsTenMillionKeysIn256MiBWithFewEvictions) {
  auto table = open({.memory = std::size_t{16} << 20, .sharing = Sharing::threads});
  const Law hour = law(3600, 3600 * second);
  constexpr std::uint64_t keys = 10'000'000 / 16;
  const Instant now = table->now();
  for (std::uint64_t i = 0; i < keys; ++i) {
    ASSERT_TRUE(take(*table, hour, std::to_string(i), 100, now).admitted);
  }
  const TableStats stats = table->stats();
  EXPECT_LT(stats.evictions + stats.unkept, keys / 1000);
  EXPECT_NEAR(static_cast<double>(stats.live), keys, keys * 0.02);
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    if (take(*table, hour, std::to_string(i), 0, now, Op::peek).remaining != 3500) ++lost;
  }
  EXPECT_EQ(lost, stats.evictions + stats.unkept) << "each is counted";
  EXPECT_EQ(stats.memory, std::size_t{16} << 20);
}

class Flood : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Flood, OfNewKeysNeverEvictsAKeyInPenalty) {
  auto table = open({.memory = 64 * 1024, .wide_share = 32});
  const std::uint64_t quota = GetParam();
  const Law the_law = law(quota, 60 * second, {Denied::penalty, 60 * second});
  const std::uint64_t keys = 10 * table->stats().cells;
  Instant now = table->now();
  for (std::uint64_t i = 0; i <= 200; ++i) take(*table, the_law, "offender", 1, now);
  ASSERT_FALSE(take(*table, the_law, "offender", 1, now).admitted);
  for (std::uint64_t i = 0; i < keys; ++i) {
    now.ns += second / 1000;
    take(*table, the_law, "flood" + std::to_string(i), 1 + i % 3, now);
    if (i % 97 == 0) {
      ASSERT_FALSE(take(*table, the_law, "offender", 1, now).admitted) << i;
    }
  }
  const TableStats stats = table->stats();
  EXPECT_GT(stats.evictions + stats.unkept, 0u);
  EXPECT_LE(stats.live, stats.cells);
}

INSTANTIATE_TEST_SUITE_P(Cells, Flood, testing::Values(60, 59),
                         [](const auto& the) { return the.param == 60 ? "narrow" : "wide"; });

TEST(Table, EvictsTheLessRestrictedOfTwoKeys) {
  auto table = open({.memory = TableOptions::memory_min});
  const Law the_law = law(100, 100 * second);
  const Instant now = table->now();
  const std::uint64_t keys = 4 * table->stats().cells;
  // Each key spends more than the former one: the last ones must be kept.
  for (std::uint64_t i = 0; i < keys; ++i) {
    take(*table, the_law, std::to_string(i), 1 + i * 99 / keys, now);
  }
  std::uint64_t light = 0;
  std::uint64_t heavy = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    const bool known = take(*table, the_law, std::to_string(i), 0, now, Op::peek).remaining < 100;
    if (known && i < keys / 2) ++light;
    if (known && i >= 3 * keys / 4) ++heavy;
  }
  EXPECT_GT(heavy, table->stats().cells * 8 / 10);
  EXPECT_LT(light, heavy / 10);
  // New keys that spend little do not evict them.
  const std::uint64_t before = table->stats().evictions;
  for (std::uint64_t i = 0; i < keys; ++i) {
    EXPECT_TRUE(take(*table, the_law, "late" + std::to_string(i), 1, now).admitted);
  }
  EXPECT_LE(table->stats().evictions - before, keys / 100);
  EXPECT_GT(table->stats().unkept, keys / 2);
}

TEST(Table, ACellWhoseQuotaIsFullIsReusedWithoutEviction) {
  auto table = open({.memory = TableOptions::memory_min});
  const Law the_law = law(10, second);
  Instant now = table->now();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 200; ++i) {
      const std::string key = std::to_string(round) + "/" + std::to_string(i);
      ASSERT_EQ(take(*table, the_law, key, 1, now).remaining, 9u);
    }
    now.ns += second;
  }
  EXPECT_EQ(table->stats().unkept, 0u);
  EXPECT_LT(table->stats().evictions, 50u) << "only what two buckets could not hold at one time";
}

TEST(Table, EveryCombinationOfSharesFits) {
  for (const std::size_t memory : {TableOptions::memory_min, std::size_t{20} << 10,
                                   std::size_t{24} << 10, std::size_t{64} << 10}) {
    for (const unsigned log : {1u, 32u, 56u, 60u, 63u}) {
      for (unsigned wide = 1; wide <= 62; ++wide) {
        for (unsigned ledger = 1; ledger + wide <= 63; ++ledger) {
          auto table = open(
              {.memory = memory, .wide_share = wide, .ledger_share = ledger, .log_share = log});
          const TableStats stats = table->stats();
          ASSERT_LE(stats.cells, memory / 16) << wide << ' ' << ledger << ' ' << log;
          ASSERT_GE(stats.cells, 16u) << wide << ' ' << ledger << ' ' << log;
        }
      }
    }
  }
}

TEST(Table, EveryTableHasItsOwnSecret) {
  auto one = open({.memory = TableOptions::memory_min});
  auto two = open({.memory = TableOptions::memory_min});
  EXPECT_NE(one->secret().k0, two->secret().k0);
}

TEST(Table, ItsClockAdvances) {
  auto table = open({.memory = TableOptions::memory_min});
  const Instant before = table->now();
  EXPECT_GT(before.ns, 0);
  EXPECT_GE(table->now(), before);
}

// A machine whose wall clock may be wrong.
struct Machine {
  static inline std::int64_t monotonic = 0;
  static inline std::int64_t wall = 0;
  static inline bool stands = false;  // the wall clock has reached the end of its range
  static constexpr ClockSource source{[]() noexcept { return monotonic; },
                                      []() noexcept { return wall; },
                                      []() noexcept { return std::array<char, 16>{"boot"}; }};
  static void pass(std::int64_t ns) {
    monotonic += ns;
    if (!stands) wall += ns;
  }
};

TEST(Table, AlignedWindowsLimitWhateverTheWallClockShows) {
  constexpr auto end = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t years = 31'556'952 * static_cast<std::int64_t>(second);
  for (const std::int64_t wall : {std::int64_t{0}, -5 * years, 73 * years, std::int64_t{1} << 61,
                                  130 * years, 230 * years, 260 * years, end}) {
    Machine::monotonic = 0;
    Machine::wall = wall;
    Machine::stands = wall == end;
    auto table = open({.memory = TableOptions::memory_min, .clock = &Machine::source});
    const auto algorithms = {limit::Algorithm::fixed_window,
                             limit::Algorithm::sliding_window_counter};
    for (const limit::Algorithm algorithm : algorithms) {
      const Law windows = law(2, 10 * second, {.algorithm = algorithm, .aligned = true});
      const std::string key = std::to_string(static_cast<int>(algorithm));
      int admitted = 0;
      for (int i = 0; i < 300; ++i) {
        Machine::pass(static_cast<std::int64_t>(second) / 10);
        if (take(*table, windows, key, 1, table->now()).admitted) ++admitted;
      }
      EXPECT_LE(admitted, 2 * 4) << "within 30 s from " << wall;
      EXPECT_GE(admitted, 2 * 3 - 1) << "within 30 s from " << wall;
    }
  }
}

}  // namespace
}  // namespace headgate::store
