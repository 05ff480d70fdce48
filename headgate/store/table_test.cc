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
              Op op = Op::spend, Instant since = {}) {
  const Charge charge{&law, key, cost, op, false, since};
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
TEST(Table, HoldsTenMillionKeysIn256MiB) {
  auto table = open({.memory = std::size_t{16} << 20, .sharing = Sharing::threads});
  const Law hour = law(3600, 3600 * second);
  constexpr std::uint64_t keys = 10'000'000 / 16;
  const Instant now = table->now();
  for (std::uint64_t i = 0; i < keys; ++i) {
    ASSERT_TRUE(take(*table, hour, std::to_string(i), 100, now).admitted);
  }
  const TableStats stats = table->stats();
  EXPECT_LT(stats.unkept, keys * 3 / 2000) << "0.1 % in a large table";
  EXPECT_NEAR(static_cast<double>(stats.live()), keys, keys * 0.02);
  std::uint64_t less = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::uint64_t left = take(*table, hour, std::to_string(i), 0, now, Op::peek).remaining;
    ASSERT_LE(left, 3500u) << "nothing is forgotten";
    if (left < 3500) ++less;
  }
  EXPECT_LE(less, stats.unkept) << "only keys that share cells have less";
  EXPECT_EQ(stats.memory, std::size_t{16} << 20);
}

class Penalty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Penalty, LastsThroughAFloodOfNewKeys) {
  auto table = open({.memory = 64 * 1024, .wide_share = 32});
  const std::uint64_t quota = GetParam();
  const Law the_law = law(quota, 60 * second, {Denied::penalty, 60 * second});
  const std::uint64_t keys = 10 * table->stats().cells();
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
  EXPECT_GT(stats.unkept, 0u);
  EXPECT_LE(stats.live(), stats.cells());
}

INSTANTIATE_TEST_SUITE_P(Cells, Penalty, testing::Values(60, 59),
                         [](const auto& the) { return the.param == 60 ? "narrow" : "wide"; });

TEST(Table, AKeyKeepsItsPlaceForAWindowAfterItsQuotaIsFull) {
  for (const Law& the_law :
       {law(100, 100 * second), law(99, 100 * second),
        law(100, 100 * second, {.algorithm = limit::Algorithm::sliding_window_counter}),
        law(100, 1, {.algorithm = limit::Algorithm::concurrency, .lease = 100 * second})}) {
    auto table = open({.memory = 64 * 1024, .wide_share = 16, .ledger_share = 32, .log_share = 56});
    Instant now = table->now();
    const std::uint64_t keys = 4 * table->stats().cells();
    const auto flood = [&](const std::string& name) {
      for (std::uint64_t i = 0; i < keys; ++i)
        take(*table, the_law, name + std::to_string(i), 1, now);
    };
    ASSERT_TRUE(take(*table, the_law, "old", 1, now).admitted);
    flood("first");
    const std::uint64_t unkept = table->stats().unkept;
    ASSERT_GT(unkept, 0u);
    // Its unit is back after a second, or two windows in the sliding window.
    now.ns += 100 * second;
    flood("second");
    ASSERT_EQ(take(*table, the_law, "old", 0, now, Op::peek).admitted, true);
    ASSERT_GE(take(*table, the_law, "old", 1, now).remaining, 97u);
    // Three windows later another key may take its place.
    now.ns += 500 * second;
    flood("third");
    EXPECT_LT(take(*table, the_law, "old", 1, now).remaining, 97u);
  }
}

TEST(Table, APlaceIsUsedAgain) {
  auto table = open({.memory = TableOptions::memory_min});
  const Law the_law = law(10, second);
  Instant now = table->now();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 200; ++i) {
      const std::string key = std::to_string(round) + "/" + std::to_string(i);
      ASSERT_EQ(take(*table, the_law, key, 1, now).remaining, 9u);
    }
    now.ns += 3 * second;
  }
  EXPECT_LT(table->stats().unkept, 100u) << "only what two buckets could not hold at one time";
}

TEST(Table, AKeyThatGetsItsPlaceLaterBeginsWithWhatItOwes) {
  for (const Law& the_law :
       {law(10, 100 * second), law(9, 100 * second),
        law(10, 100 * second, {.algorithm = limit::Algorithm::exponential}),
        law(10, 100 * second, {.algorithm = limit::Algorithm::fixed_window}),
        law(10, 100 * second, {.algorithm = limit::Algorithm::moving_window}),
        law(10, 100 * second, {.algorithm = limit::Algorithm::sliding_window_counter}),
        law(10, 1, {.algorithm = limit::Algorithm::concurrency, .lease = 100 * second})}) {
    auto table = open({.memory = 64 * 1024, .wide_share = 16, .ledger_share = 32, .log_share = 56});
    Instant now = table->now();
    // Keys of a brief window fill the table. Those of a long one have a part of the sketch alone.
    const Law brief =
        std::holds_alternative<limit::Concurrency>(the_law)
            ? law(10, 1, {.algorithm = limit::Algorithm::concurrency, .lease = second})
        : std::holds_alternative<limit::LinearWhole>(the_law) ? law(10, second)
        : std::holds_alternative<limit::LinearExact>(the_law)
            ? law(9, second)
            : law(10, second, {.algorithm = limit::Algorithm::fixed_window});
    for (std::uint64_t i = 0; i < 4 * table->stats().cells(); ++i) {
      take(*table, brief, std::to_string(i), 1, now);
    }
    std::string unkept;
    for (int i = 0; unkept.empty(); ++i) {
      const std::uint64_t before = table->stats().unkept;
      take(*table, the_law, "late" + std::to_string(i), 1, now);
      if (table->stats().unkept > before) unkept = "late" + std::to_string(i);
    }
    for (int i = 1; i < 8; ++i) ASSERT_TRUE(take(*table, the_law, unkept, 1, now).admitted);
    now.ns += 5 * second;  // the brief keys are over, and half a unit is back
    const std::uint64_t before = table->stats().unkept;
    EXPECT_LE(take(*table, the_law, unkept, 1, now).remaining, 2u);
    EXPECT_EQ(table->stats().unkept, before) << "it has a place now";
    int more = 0;
    while (more < 10 && take(*table, the_law, unkept, 1, now).admitted) ++more;
    EXPECT_LE(more, 2);
  }
}

// It has an entry, but the block of its log went to others while its quota was full.
TEST(Table, AKeyWhoseLogGetsABlockLaterBeginsWithWhatItOwes) {
  for (const Law& the_law :
       {law(10, 100 * second, {.algorithm = limit::Algorithm::moving_window}),
        law(10, 1, {.algorithm = limit::Algorithm::concurrency, .lease = 100 * second})}) {
    auto table = open({.memory = 64 * 1024, .ledger_share = 32, .log_share = 2});
    Instant now = table->now();
    ASSERT_TRUE(take(*table, the_law, "late", 1, now).admitted);
    now.ns += 101 * second;
    const Law slots =
        law(10, 1, {.algorithm = limit::Algorithm::concurrency, .lease = 1000 * second});
    int keys = 0;
    while (table->stats().unkept == 0) {
      ASSERT_TRUE(take(*table, slots, std::to_string(keys++), 1, now).admitted);
    }
    const auto admitted = [&] {
      int count = 0;
      while (count < 30 && take(*table, the_law, "late", 1, now).admitted) ++count;
      return count;
    };
    EXPECT_EQ(admitted(), 10);
    EXPECT_GT(table->stats().unkept, 10U) << "it had no block";
    for (int i = 0; i < keys; ++i) take(*table, slots, std::to_string(i), 1, now, Op::refund, now);
    EXPECT_EQ(admitted(), 0);
    if (!std::holds_alternative<limit::Concurrency>(the_law)) continue;
    take(*table, the_law, "late", 2, now, Op::refund, now);
    EXPECT_EQ(admitted(), 2) << "slots are released where they were taken";
  }
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
          ASSERT_LE(stats.cells(), memory / 16) << wide << ' ' << ledger << ' ' << log;
          ASSERT_GE(stats.cells(), 16u) << wide << ' ' << ledger << ' ' << log;
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

// It was stopped before it came to the state. The law alone takes the state for one from before the
// clock went back.
TEST(Table, ARequestThatHasReadTheClockEarlierGivesNothingBack) {
  auto table = open({.memory = 1 << 20});
  using limit::Algorithm;
  const Nanos window = 3600 * second;
  const limit::Terms terms[] = {{},
                                {.exact = true},
                                {.late = true},
                                {.delay = 60 * second},
                                {.denied = Denied::spend},
                                {.denied = Denied::penalty, .penalty = second},
                                {.algorithm = Algorithm::exponential},
                                {.algorithm = Algorithm::exponential, .late = true},
                                {.algorithm = Algorithm::fixed_window},
                                {.algorithm = Algorithm::fixed_window, .aligned = true},
                                {.algorithm = Algorithm::sliding_window_counter},
                                {.algorithm = Algorithm::sliding_window_counter, .aligned = true},
                                {.algorithm = Algorithm::moving_window}};
  for (std::size_t i = 0; i < std::size(terms); ++i) {
    const Law hundred = law(100, window, terms[i]);
    const std::string key = "k" + std::to_string(i);
    EXPECT_TRUE(take(*table, hundred, key, 100, table->now()).admitted);
    // Of a policy whose denials cost, the state of a busy key is that of a denial.
    EXPECT_FALSE(take(*table, hundred, key, 1, table->now()).admitted);
    for (const Nanos late : {window / 10, window}) {
      for (const Op op : {Op::spend, Op::peek, Op::refund, Op::debit}) {
        const std::uint64_t cost = op == Op::spend ? 1 : 0;
        take(*table, hundred, key, cost, Instant{table->now().ns - late}, op);
        EXPECT_FALSE(take(*table, hundred, key, 1, table->now()).admitted)
            << i << " after " << static_cast<int>(op);
      }
      const Charge both[] = {{&hundred, key, 1}, {&hundred, "other", 1}};
      Decision decisions[2];
      Bundle bundle{both, decisions};
      table->take({&bundle, 1}, Instant{table->now().ns - late}, {});
      EXPECT_FALSE(bundle.admitted);
      EXPECT_FALSE(take(*table, hundred, key, 1, table->now()).admitted) << i << " after a bundle";
    }
  }
}

TEST(Table, TimesOfLongAgoAreThoseOfTheDecisions) {
  auto table = open({.memory = TableOptions::memory_min});
  const limit::Terms terms[] = {
      {}, {.denied = Denied::spend}, {.denied = Denied::penalty, .penalty = second}};
  for (std::size_t i = 0; i < std::size(terms); ++i) {
    const Law ten = law(10, 60 * second, terms[i]);
    const std::string key = "k" + std::to_string(i);
    Instant now{table->now().ns - 600 * second};
    EXPECT_TRUE(take(*table, ten, key, 10, now).admitted);
    for (int ms = 0; ms < 1000; ++ms) {
      now.ns += second / 1000;
      EXPECT_FALSE(take(*table, ten, key, 1, now).admitted) << i << ", after " << ms << " ms";
    }
  }
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
