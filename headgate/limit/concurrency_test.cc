// Slots come back exactly once: by a release, or by their lease.

#include "headgate/limit/concurrency.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "headgate/limit/testing/vector_log.h"

namespace headgate::limit {
namespace {

constexpr Nanos second = nanos_per_second;

Concurrency law_of(std::uint64_t quota, Nanos lease, std::uint32_t log = 4096) {
  return Concurrency::make({quota, 0}, {.log = log, .lease = lease}).value();
}

struct Slot {
  Instant taken;
  std::uint64_t cost;
};

// Compares with a list of the slots.
RC_GTEST_PROP(Concurrency, CountsTheSlotsInUse, ()) {
  const auto quota = *rc::gen::inRange<std::uint64_t>(1, 20);
  const Nanos lease = 10 * second;
  const Concurrency law = law_of(quota, lease);
  VectorLog log;
  std::vector<Slot> slots;
  Instant now{1};
  for (int i = 0; i < 80; ++i) {
    now.ns += *rc::gen::element<Nanos>(0, 1, second, 3 * second, lease - 1, lease);
    std::erase_if(slots, [&](const Slot& slot) { return slot.taken.ns <= now.ns - lease; });
    std::uint64_t used = 0;
    for (const Slot& slot : slots) used += slot.cost;
    Decision d;
    if (!slots.empty() && *rc::gen::arbitrary<bool>()) {
      const auto which = *rc::gen::inRange<std::size_t>(0, slots.size());
      d = law.refund(log, slots[which].cost, now, slots[which].taken);
      used -= slots[which].cost;
      slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const auto cost = *rc::gen::inRange<std::uint64_t>(0, quota + 2);
      d = law.spend(log, cost, now);
      RC_ASSERT(d.admitted == (used + cost <= quota));
      if (d.admitted && cost > 0) slots.push_back({now, cost});
      if (d.admitted) used += cost;
    }
    RC_ASSERT(d.remaining == quota - used);
    RC_ASSERT(d.reset == Decision::no_reset);
    RC_ASSERT(d.wait == (d.admitted ? 0 : Decision::never));
  }
}

// A machine knows only nearly when the clock of the store took a slot.
TEST(Concurrency, ASlotIsFoundNearTheTimeAtWhichItWasTaken) {
  const Concurrency law = law_of(20, 3600 * second);
  const Instant now{1000 * second};
  const std::vector<Slot> slots{{now, 1},
                                {{now.ns + second}, 10},
                                {{now.ns + 2 * second}, 1},
                                {{now.ns + 3 * second}, 1},
                                {{now.ns + 4 * second}, 7}};
  for (const Slot& slot : slots) {
    for (const Nanos off : {-second / 10, Nanos{-1}, Nanos{0}, Nanos{1}, second / 10}) {
      VectorLog log;
      for (const Slot& taken : slots) {
        ASSERT_TRUE(law.spend(log, taken.cost, taken.taken).admitted);
      }
      const Instant later{now.ns + 10 * second};
      EXPECT_EQ(law.refund(log, slot.cost, later, {slot.taken.ns + off}).remaining, slot.cost);
      for (std::size_t i = 0; i < log.size(); ++i) EXPECT_NE(log.get(i).time, slot.taken.ns);
    }
  }
}

TEST(Concurrency, ASlotThatIsNotReleasedIsFreeAfterItsLease) {
  const Concurrency law = law_of(2, 60 * second);
  VectorLog log;
  EXPECT_TRUE(law.spend(log, 2, Instant{second}).admitted);
  EXPECT_FALSE(law.spend(log, 1, Instant{61 * second - 1}).admitted);
  EXPECT_TRUE(law.spend(log, 1, Instant{61 * second}).admitted);
}

TEST(Concurrency, WorkersThatReadTheClockInAnotherOrderReleaseTheirSlots) {
  const Concurrency law = law_of(9, 60 * second);
  VectorLog log;
  for (const Nanos at : {101, 100, 103, 102}) EXPECT_TRUE(law.spend(log, 1, {at}).admitted);
  for (const Nanos at : {103, 101, 102, 100}) {
    EXPECT_TRUE(law.refund(log, 1, {200}, {at}).admitted);
  }
  EXPECT_EQ(log.units(), 0u);
}

// Each release finds a record that is near, and not always its own.
TEST(Concurrency, WorkersThatReadTheClockInAnotherOrderReleaseSlotsOfAllCosts) {
  const Concurrency law = law_of(20, 3600 * second);
  VectorLog log;
  const auto take = [&](std::uint64_t cost, Nanos at) {
    EXPECT_TRUE(law.spend(log, cost, Instant{at}).admitted);
  };
  const auto release = [&](std::uint64_t cost, Nanos since) {
    return law.refund(log, cost, Instant{200}, Instant{since}).remaining;
  };
  take(1, 100);
  take(1, 90);
  take(2, 101);
  EXPECT_EQ(release(1, 100), 17U);
  EXPECT_EQ(release(2, 101), 19U);
  EXPECT_EQ(release(1, 90), 20U);
}

TEST(Concurrency, ALateReleaseDoesNotReleaseAnotherSlot) {
  const Concurrency law = law_of(2, 60 * second);
  VectorLog log;
  static_cast<void>(law.spend(log, 2, Instant{second}));
  static_cast<void>(law.spend(log, 2, Instant{70 * second}));
  EXPECT_EQ(law.refund(log, 2, Instant{71 * second}, Instant{second}).remaining, 0u);
  EXPECT_EQ(law.refund(log, 2, Instant{72 * second}, Instant{70 * second}).remaining, 2u);
  EXPECT_EQ(law.refund(log, 2, Instant{73 * second}, Instant{70 * second}).remaining, 2u)
      << "a second release has no effect";
}

TEST(Concurrency, ReleasesTheNewestIfTheTimeIsUnknown) {
  const Concurrency law = law_of(3, 60 * second);
  VectorLog log;
  for (const int at : {1, 2, 3}) static_cast<void>(law.spend(log, 1, Instant{at * second}));
  EXPECT_EQ(law.refund(log, 1, Instant{4 * second}).remaining, 1u);
  EXPECT_EQ(log.get(1).time, 2 * second);
  EXPECT_EQ(law.refund(log, 9, Instant{4 * second}).remaining, 3u) << "at most all slots in use";
}

TEST(Concurrency, AFullLogStillCountsEverySlot) {
  const Concurrency law = law_of(50, 60 * second, 4);
  VectorLog log;
  for (int i = 1; i <= 50; ++i) {
    EXPECT_TRUE(law.spend(log, 1, Instant{i * second}).admitted);
    EXPECT_LE(log.size(), 4u);
  }
  EXPECT_FALSE(law.spend(log, 1, Instant{50 * second}).admitted);
  for (int i = 1; i <= 50; ++i) {
    EXPECT_EQ(law.refund(log, 1, Instant{55 * second}, Instant{i * second}).remaining,
              static_cast<std::uint64_t>(i));
  }
}

TEST(Concurrency, RefusesWhatItDoesNotSupport) {
  EXPECT_FALSE(Concurrency::make({0, 0}, {}));
  EXPECT_FALSE(Concurrency::make({1, 0}, {.lease = 0}));
  EXPECT_FALSE(Concurrency::make({1, 0}, {.lease = Concurrency::lease_max + 1}));
  EXPECT_FALSE(Concurrency::make({1, 0}, {.denied = Denied::spend}));
  EXPECT_FALSE(Concurrency::make({1, 0}, {.late = true}));
  EXPECT_TRUE(Concurrency::make({1, 0}, {}));
}

}  // namespace
}  // namespace headgate::limit
