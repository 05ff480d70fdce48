// What keys that share cells of the sketch get.

#include "headgate/store/sketch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "headgate/base/siphash.h"

namespace headgate::store {
namespace {

using limit::Coarse;
using limit::Decision;
using limit::Op;

constexpr Nanos second = nanos_per_second;

Coarse coarse(std::uint64_t quota, Nanos window, limit::Terms terms = {}) {
  return std::visit(
      [](const auto& law) {
        if constexpr (requires { law.coarse(); }) return law.coarse();
        return Coarse::of_slots(1, 1);
      },
      limit::make_law({quota, window}, terms).value());
}

class SketchTest : public testing::Test {
 protected:
  [[nodiscard]] static Hash128 hash(std::uint64_t key) {
    return expand_hash((key + 1) * 0x9e3779b97f4a7c15);
  }

  [[nodiscard]] static Room room(const Coarse& law) {
    return law.slots() ? Room::slots : Room::ledger;
  }

  Sketch::Decided take(const Coarse& law, std::uint64_t key, std::uint64_t cost, Op op = Op::spend,
                       Instant since = {}) {
    return sketch_.decide({hash(key), room(law), op, cost, since, now_}, law);
  }

  std::vector<DebtCell> cells_ = std::vector<DebtCell>(Sketch::cells_min);
  SketchHead head_;
  Sketch sketch_{cells_, head_};
  Instant now_{1'000'000 * second};
};

TEST_F(SketchTest, ALoneKeyGetsWhatTheLinearLawGives) {
  for (const std::uint64_t quota : {1, 7, 10, 1000}) {
    const limit::Law law = limit::make_law({quota, 10 * second}, {}).value();
    std::optional<i128> exact;
    for (int i = 0; i < 1000; ++i) {
      now_.ns += second / 100 * (i % 7);
      const auto spend = [&](const auto& linear) {
        using State = typename std::decay_t<decltype(linear)>::State;
        std::optional<State> state;
        if (exact) state = static_cast<State>(*exact);
        const auto step = linear.spend(state, 1, now_);
        if (step.changed) exact = step.state;
        return step.decision;
      };
      Decision expected = std::holds_alternative<limit::LinearWhole>(law)
                              ? spend(std::get<limit::LinearWhole>(law))
                              : spend(std::get<limit::LinearExact>(law));
      expected.unkept = true;
      const Decision got = take(coarse(quota, 10 * second), quota, 1).decision;
      ASSERT_TRUE(expected.admitted || !got.admitted) << quota << ' ' << i;
      // A debt is rounded up to a nanosecond per request.
      if (10 * second % quota == 0) {
        ASSERT_EQ(got, expected) << quota << ' ' << i;
      }
    }
  }
}

TEST_F(SketchTest, NeverCountsTooLittle) {
  std::mt19937_64 dice(7);
  const Coarse laws[] = {coarse(10, 60 * second), coarse(100, 50 * second),
                         coarse(7, 40 * second, {.denied = limit::Denied::spend})};
  const std::uint64_t quotas[] = {10, 100, 7};
  const Nanos windows[] = {60 * second, 50 * second, 40 * second};
  std::map<std::uint64_t, long double> full_at;  // of each key, exact
  std::uint64_t admitted = 0;
  for (int i = 0; i < 100'000; ++i) {
    now_.ns += static_cast<Nanos>(dice() % static_cast<std::uint64_t>(second / 10));
    const std::uint64_t key = dice() % 300;
    const std::size_t law = key % 3;
    const std::uint64_t cost = 1 + dice() % 3;
    if (!take(laws[law], key, cost).decision.admitted) continue;
    ++admitted;
    const auto now = static_cast<long double>(now_.ns);
    const auto window = static_cast<long double>(windows[law]);
    long double& full = full_at[key];
    full = std::max(full, now) +
           window * static_cast<long double>(cost) / static_cast<long double>(quotas[law]);
    ASSERT_LE(full, now + window + 1) << "key " << key;
  }
  EXPECT_GT(admitted, 1000u);
  EXPECT_EQ(sketch_.unkept(), 100'000u);
}

TEST_F(SketchTest, AWaitIsWhatItsCellsNeed) {
  const Coarse law = coarse(10, 60 * second);
  for (std::uint64_t key = 0; key < 5000; ++key) static_cast<void>(take(law, key, 3));
  for (std::uint64_t key = 0; key < 100; ++key) {
    const Decision denied = take(law, key, 10, Op::peek).decision;
    ASSERT_FALSE(denied.admitted);
    const Instant before = now_;
    now_.ns += denied.wait - 1;
    EXPECT_FALSE(take(law, key, 10, Op::peek).decision.admitted);
    now_.ns += 1;
    EXPECT_TRUE(take(law, key, 10, Op::peek).decision.admitted);
    now_ = before;
  }
}

TEST_F(SketchTest, DebtsOfLongWindowsDoNotDenyKeysOfShortOnes) {
  const Coarse hour = coarse(10, 3600 * second);
  for (std::uint64_t key = 0; key < 5000; ++key) static_cast<void>(take(hour, key, 10));
  EXPECT_FALSE(take(hour, 5000, 1).decision.admitted);
  // Seven more classes; the first ones have more cells.
  for (Nanos window = second; window <= 64 * second; window *= 2) {
    const Coarse law = coarse(10, window);
    EXPECT_TRUE(take(law, 5001, 10).decision.admitted) << static_cast<double>(window);
    EXPECT_FALSE(take(law, 5001, 1).decision.admitted) << static_cast<double>(window);
  }
}

TEST_F(SketchTest, OnlySlotsAreGivenBackAndOnlyWhatTimeHasNotReturned) {
  const Coarse law =
      coarse(10, 1, {.algorithm = limit::Algorithm::concurrency, .lease = 100 * second});
  const Instant taken = now_;
  EXPECT_TRUE(take(law, 1, 10).decision.admitted);
  EXPECT_EQ(take(law, 1, 5, Op::refund).decision.remaining, 0u) << "of an unknown time";
  now_.ns += 20 * second;
  EXPECT_EQ(take(law, 1, 0, Op::peek).decision.remaining, 2u);
  EXPECT_EQ(take(law, 1, 5, Op::refund, taken).decision.remaining, 5u) << "three of five";
  now_.ns += 100 * second;
  EXPECT_EQ(take(law, 1, 5, Op::refund, taken).decision.remaining, 10u);
  EXPECT_TRUE(take(law, 1, 10).decision.admitted);
  EXPECT_EQ(take(law, 1, 5, Op::refund, taken).decision.remaining, 0u);
  const Coarse windows = coarse(10, 100 * second);
  EXPECT_TRUE(take(windows, 1, 10).decision.admitted);
  EXPECT_EQ(take(windows, 1, 5, Op::refund, now_).decision.remaining, 0u);
}

TEST_F(SketchTest, KeysWithOtherPlacesShareNoCells) {
  const Coarse law = coarse(10, 60 * second);
  for (std::uint64_t key = 0; key < 5000; ++key) static_cast<void>(take(law, key, 10));
  const UnkeptCharge same{hash(1), Room::ledger, Op::spend, 1, {}, now_};
  const UnkeptCharge other{hash(1), Room::narrow_cells, Op::spend, 1, {}, now_};
  EXPECT_TRUE(sketch_.owed_until(same, law));
  EXPECT_FALSE(sketch_.owed_until(other, law));
  EXPECT_TRUE(sketch_.decide(other, law).decision.admitted);
}

// However long a flood lasts, and also in cells that are always the later ones.
TEST_F(SketchTest, NoDebtOutlastsTheFloodByMoreThanItsWindow) {
  for (const Coarse& law :
       {coarse(10, 60 * second),
        coarse(10, 1, {.algorithm = limit::Algorithm::concurrency, .lease = 60 * second})}) {
    for (std::uint64_t key = 0; key < 50'000; ++key) {
      now_.ns += second / 10;
      static_cast<void>(take(law, key, 1 + key % 10));
    }
    now_.ns += 60 * second;
    for (std::uint64_t key = 0; key < 10; ++key) {
      EXPECT_FALSE(sketch_.owed_until({hash(key), room(law), Op::spend, 1, {}, now_}, law));
    }
  }
}

TEST_F(SketchTest, DamagedCellsDenyForNoMoreThanAWindow) {
  const Coarse law = coarse(10, 60 * second);
  static_cast<void>(take(law, 0, 0));  // the class gets its part
  std::mt19937_64 dice(3);
  for (DebtCell& cell : cells_) cell = dice();
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Decision decision = take(law, key, 1).decision;
    ASSERT_TRUE(decision.admitted || decision.wait <= 60 * second);
  }
}

TEST_F(SketchTest, DamagedNamesOfPartsDenyForNoLongerThanSomeDebtCanLast) {
  const Coarse law = coarse(10, 60 * second);
  head_.classes = ~std::uint64_t{0};  // so all laws share what is left
  for (DebtCell& cell : cells_) cell = ~std::uint64_t{0};
  const Decision decision = take(law, 0, 1).decision;
  EXPECT_FALSE(decision.admitted);
  EXPECT_LE(decision.wait, 60 * second);
}

TEST_F(SketchTest, AStateOfItsOwnIsTheLeastThatAKeyOwes) {
  const Coarse law = coarse(10, 100 * second);
  const UnkeptCharge charge{hash(1), Room::ledger, Op::spend, 1, {}, now_};
  EXPECT_EQ(sketch_.decide(charge, law, now_.ns + 60 * second).decision.remaining, 3u);
  EXPECT_EQ(sketch_.decide(charge, law, now_.ns + 60 * second).decision.remaining, 2u);
  EXPECT_EQ(sketch_.owed_until(charge, law), now_.ns + 80 * second);
}

TEST_F(SketchTest, ThreadsTakeExactlyTheQuotaOfALoneKey) {
  const Coarse law = coarse(1000, 100 * second);
  std::atomic<std::uint64_t> admitted{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < 4; ++i) {
    pool.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        const UnkeptCharge charge{hash(1), Room::ledger, Op::spend, 1, {}, now_};
        const Sketch::Decided decided = sketch_.decide(charge, law);
        if (decided.decision.admitted) admitted.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(admitted.load(), 1000u);
  EXPECT_EQ(take(law, 1, 0, Op::peek).decision.remaining, 0u);
}

}  // namespace
}  // namespace headgate::store
