// What a denied key costs Redis.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "headgate/redis/redis_store.h"
#include "headgate/redis/testing/blocking.h"
#include "headgate/redis/testing/redis_server.h"

namespace headgate::redis {
namespace {

using limit::Algorithm;
using limit::Op;
using store::Charge;
using Steady = std::chrono::steady_clock;

constexpr Nanos second = nanos_per_second;

class RememberedDenials : public testing::Test {
 protected:
  static limit::Law law(std::uint64_t quota, Nanos window, const limit::Terms& terms = {}) {
    return limit::make_law({quota, window}, terms).value();
  }
  std::unique_ptr<RedisStore> open() {
    Options options;
    options.nodes = {server_.address()};
    options.timeout = std::chrono::seconds(60);
    options.counts = &counts_;
    return RedisStore::open(options).value();
  }
  [[nodiscard]] Charge charge(const limit::Law& law, std::string_view key = "\1k",
                              std::uint64_t cost = 1, Op op = Op::spend) const {
    Charge charge{&law, key, cost, op};
    charge.shared = &shared_;
    return charge;
  }
  // How often the script ran.
  [[nodiscard]] std::uint64_t calls() const {
    const std::string stats = server_.command({"INFO", "commandstats"});
    const std::string name = "cmdstat_evalsha:calls=";
    const std::size_t at = stats.find(name);
    return at == std::string::npos ? 0 : std::stoull(stats.substr(at + name.size()));
  }

  const RedisServer server_;
  RedisCounts counts_;
  limit::Shared shared_{limit::OnOutage::local, law(1, second), true};
};

// The bound of docs/redis.md: one call for each unit, two for each time that a unit may be there,
// and one per second.
TEST_F(RememberedDenials, AKeyAtAHundredTimesItsQuotaCostsABoundedRateOfCommands) {
  const auto store = open();
  const limit::Law twenty = law(20, second);
  ASSERT_TRUE(take(*store, {charge(twenty, "\1k", 20)}).admitted);
  const std::uint64_t before = calls();
  const auto begin = Steady::now();
  std::uint64_t requests = 0;
  std::uint64_t admitted = 0;
  auto passes = Steady::time_point::max();  // from then on, as the last denial says
  while (requests < 4000 || Steady::now() - begin < std::chrono::seconds(2)) {
    const bool must_pass = Steady::now() >= passes;
    const Taken taken = take(*store, {charge(twenty)});
    ASSERT_TRUE(taken.admitted || !must_pass) << "denied for too long";
    passes = Steady::time_point::max();
    if (taken.admitted) {
      ++admitted;
    } else {
      passes = Steady::now() +
               std::chrono::nanoseconds(static_cast<std::int64_t>(taken.decisions[0].wait));
    }
    ++requests;
  }
  const double seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  const std::uint64_t bound = 3 * admitted + static_cast<std::uint64_t>(seconds) + 3;
  EXPECT_LE(calls() - before, bound);
  EXPECT_GE(counts_.remembered.load() + bound, requests);
}

TEST_F(RememberedDenials, HoldForEveryLaw) {
  const auto store = open();
  for (const Algorithm algorithm :
       {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
        Algorithm::sliding_window_counter, Algorithm::moving_window}) {
    const limit::Law ten = law(10, 86400 * second, {.algorithm = algorithm});
    const std::string key = "\1" + std::to_string(static_cast<int>(algorithm));
    int admitted = 0;
    while (take(*store, {charge(ten, key)}).admitted) ++admitted;
    EXPECT_EQ(admitted, 10);
    const std::uint64_t remembered = counts_.remembered.load();
    const Taken denied = take(*store, {charge(ten, key)});
    EXPECT_FALSE(denied.admitted);
    EXPECT_EQ(denied.decisions[0].remaining, 0U);
    EXPECT_GT(denied.decisions[0].wait, second);
    EXPECT_EQ(counts_.remembered.load(), remembered + 1);
  }
}

TEST_F(RememberedDenials, AreForgottenWithARefund) {
  const auto store = open();
  const limit::Law ten = law(10, 86400 * second);
  EXPECT_TRUE(take(*store, {charge(ten, "\1k", 10)}).admitted);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(take(*store, {charge(ten)}).admitted);
  take(*store, {charge(ten, "\1k", 1, Op::refund)});
  EXPECT_TRUE(take(*store, {charge(ten)}).admitted);
}

TEST_F(RememberedDenials, AreForgottenWithWhatASettlementTakesBesides) {
  const auto store = open();
  const limit::Law owing = law(10, 86400 * second, {.late = true});
  EXPECT_TRUE(take(*store, {charge(owing, "\1k", 10)}).admitted);
  const Taken before = take(*store, {charge(owing)});
  take(*store, {charge(owing, "\1k", 1, Op::debit)});
  EXPECT_GT(take(*store, {charge(owing)}).decisions[0].wait, before.decisions[0].wait + second);
}

TEST_F(RememberedDenials, AreNotThoseOfAnotherQuota) {
  const auto store = open();
  const limit::Law thousand = law(1000, 86400 * second);
  const limit::Law one = law(1, 86400 * second);
  EXPECT_TRUE(take(*store, {charge(thousand, "\1k", 400)}).admitted);
  EXPECT_FALSE(take(*store, {charge(thousand, "\1k", 700)}).admitted);
  EXPECT_TRUE(take(*store, {charge(thousand, "\1k", 550)}).admitted);
  // 95 % of the window are to come back, and all of it is needed for the one unit.
  EXPECT_GT(take(*store, {charge(one)}).decisions[0].wait, 80'000 * second);
}

TEST_F(RememberedDenials, OfTwoLawsOfOneKeyBothHoldUntilOneGivesUnits) {
  const auto store = open();
  const limit::Law ten = law(10, 86400 * second, {.late = true});  // may owe units
  const limit::Law less = law(5, 86400 * second);
  const limit::Law more = law(20, 2 * 86400 * second);
  EXPECT_TRUE(take(*store, {charge(ten, "\1k", 10)}).admitted);
  const Taken before = take(*store, {charge(ten)});
  take(*store, {charge(less)});
  const std::uint64_t asked = calls();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(take(*store, {charge(i % 2 == 0 ? ten : less)}).admitted);
  }
  EXPECT_LE(calls(), asked + 2) << "one second may have passed";
  EXPECT_TRUE(take(*store, {charge(more, "\1k", 5)}).admitted);
  EXPECT_GT(take(*store, {charge(ten)}).decisions[0].wait, before.decisions[0].wait + second);
}

TEST_F(RememberedDenials, DoNotHideThatAnotherCostIsTooLarge) {
  const auto store = open();
  const limit::Law ten = law(10, 86400 * second);
  EXPECT_TRUE(take(*store, {charge(ten, "\1k", 10)}).admitted);
  for (int i = 0; i < 2; ++i) {
    const Taken denied = take(*store, {charge(ten), charge(ten, "\1other", 11)});
    EXPECT_FALSE(denied.admitted);
    EXPECT_EQ(denied.decisions[1].wait, limit::Decision::never);
  }
}

// What is given back at another machine is seen within a second.
TEST_F(RememberedDenials, AreAskedForAgainAfterASecond) {
  const auto store = open();
  const auto other = open();
  const limit::Law ten = law(10, 86400 * second);
  EXPECT_TRUE(take(*store, {charge(ten, "\1k", 10)}).admitted);
  EXPECT_FALSE(take(*store, {charge(ten)}).admitted);
  const auto begin = BootClock::now();
  take(*other, {charge(ten, "\1k", 1, Op::refund)});
  while (!take(*store, {charge(ten)}).admitted) {
  }
  EXPECT_LE(BootClock::now() - begin, Denials::kept + std::chrono::seconds(10)) << "busy machine";
}

TEST_F(RememberedDenials, AreOnlyThoseThatLast) {
  const auto store = open();
  const limit::Law costly = law(10, 86400 * second, {.denied = limit::Denied::spend});
  const limit::Law ten = law(10, 86400 * second);
  EXPECT_TRUE(take(*store, {charge(costly, "\1c", 10)}).admitted);
  EXPECT_TRUE(take(*store, {charge(ten, "\1t", 10)}).admitted);
  Nanos wait = 0;
  for (int i = 0; i < 3; ++i) {
    const Taken denied = take(*store, {charge(costly, "\1c")});
    EXPECT_FALSE(denied.admitted);
    EXPECT_GT(denied.decisions[0].wait, i == 2 ? 0 : wait) << "each denial costs";
    wait = denied.decisions[0].wait;
  }
  shared_.denials_last = false;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(take(*store, {charge(ten, "\1t")}).admitted);
  EXPECT_EQ(counts_.remembered.load(), 0U);
  // A smaller cost may pass.
  shared_.denials_last = true;
  EXPECT_TRUE(take(*store, {charge(ten, "\1u", 8)}).admitted);
  EXPECT_FALSE(take(*store, {charge(ten, "\1u", 5)}).admitted);
  EXPECT_TRUE(take(*store, {charge(ten, "\1u", 2)}).admitted);
}

TEST_F(RememberedDenials, OfOneChargeDenyItsBundle) {
  const auto store = open();
  const limit::Law ten = law(10, 86400 * second);
  const limit::Law costly = law(10, 86400 * second, {.denied = limit::Denied::spend});
  EXPECT_TRUE(take(*store, {charge(ten, "\1a", 10)}).admitted);
  EXPECT_FALSE(take(*store, {charge(ten, "\1a")}).admitted);
  std::vector<limit::Decision> decisions(2);
  const std::vector<Charge> both{charge(ten, "\1a"), charge(ten, "\1b")};
  store::Bundle bundle{both, decisions};
  std::optional<Instant> now;
  store->take({&bundle, 1}, now, {});
  EXPECT_TRUE(bundle.remembered && !bundle.admitted && !bundle.undecided) << "completed at once";
  EXPECT_TRUE(now);
  EXPECT_FALSE(decisions[0].admitted);
  EXPECT_TRUE(decisions[1].admitted);
  EXPECT_EQ(decisions[1].remaining, 0U) << "is not known";
  EXPECT_EQ(take(*store, {charge(ten, "\1b", 0)}).decisions[0].remaining, 10U) << "nothing taken";
  // What a denial costs is charged.
  EXPECT_FALSE(take(*store, {charge(ten, "\1a"), charge(costly, "\1c", 11)}).admitted);
  EXPECT_FALSE(take(*store, {charge(ten, "\1a"), charge(costly, "\1c", 4)}).decisions[0].admitted);
}

}  // namespace
}  // namespace headgate::redis
