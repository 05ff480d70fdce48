#include "headgate/redis/lease/lease.h"

#include <gtest/gtest.h>

namespace headgate::redis {
namespace {

using Found = Lease::Found;
using std::chrono::milliseconds;
using std::chrono::seconds;
using store::Charge;

constexpr Nanos second = nanos_per_second;
constexpr Instant redis_now{1'700'000'000 * second};
const Lease::Time start{seconds(1000)};

// 100 units per second: one each 10 ms. 10 may be out, so that Redis gives 90 at once.
const limit::Law linear = limit::make_law({100, second}, {}).value();
const limit::Law window =
    limit::make_law({100, 60 * second}, {.algorithm = limit::Algorithm::fixed_window}).value();

class LeaseTest : public testing::Test {
 protected:
  explicit LeaseTest(const limit::Law& law = linear)
      : law_(law), lease_(LeaseTerms::make(law, 10).value()) {}

  // Redis has given `units`, and would give `there` besides.
  LeaseReply reply(std::uint64_t units, std::uint64_t there) {
    LeaseReply reply;
    reply.now = redis_now;
    reply.is_kept = true;
    reply.given = units;
    reply.there = there;
    reply.first = 1'700'000'000 + static_cast<std::int64_t>(90 - there) / 100;
    reply.second = static_cast<std::int64_t>(90 - there) % 100 * 10'000'000;
    return reply;
  }
  // An ask at `at`, answered after 2 ms.
  LeaseAsk ask(const LeaseReply& reply, Lease::Time at = start) {
    const LeaseAsk ask = lease_.ask(++number_, at);
    lease_.answer(ask, reply, at + milliseconds(2));
    return ask;
  }
  Found spend(std::uint64_t cost, Lease::Time at) {
    return lease_.spend(
        cost, [&] { return at; }, now_);
  }
  limit::Decision show(std::uint64_t cost, Found found, Lease::Time at) {
    return lease_.decision({&law_, "\1k", cost}, found, at);
  }

  const limit::Law& law_;
  Lease lease_;
  std::uint64_t number_ = 0;
  Lease::Time now_;
};

TEST_F(LeaseTest, SpendsWhatItHasUntilItEnds) {
  EXPECT_EQ(spend(1, start), Found::unknown) << "nothing is known";
  ask(reply(3, 50));
  EXPECT_EQ(spend(2, start + milliseconds(999)), Found::admitted);
  EXPECT_EQ(spend(2, start + milliseconds(999)), Found::unknown) << "one is left";
  EXPECT_EQ(spend(1, start + Lease::spent_for), Found::unknown) << "it is over";
  EXPECT_EQ(lease_.held(), 1U);
}

TEST_F(LeaseTest, EndsBeforeRedisCountsItsUnitsAsFree) {
  static_assert(Lease::spent_for + drift(Lease::out_for) < Lease::out_for);
  // The lease is as long as if Redis had answered before it was asked.
  const LeaseAsk asked = lease_.ask(1, start);
  lease_.answer(asked, reply(5, 50), start + milliseconds(700));
  EXPECT_EQ(spend(1, start + milliseconds(999)), Found::admitted);
  EXPECT_EQ(spend(1, start + milliseconds(1000)), Found::unknown);
}

// The process is stopped when the unit is taken, and goes on after five seconds.
TEST_F(LeaseTest, AProcessThatIsStoppedWhileItSpendsHasSpentNothing) {
  ask(reply(3, 50));
  EXPECT_EQ(lease_.spend(
                1,
                [&] {
                  EXPECT_EQ(lease_.held(), 2U);
                  return start + seconds(5);
                },
                now_),
            Found::unknown);
  EXPECT_EQ(lease_.held(), 3U);
}

TEST_F(LeaseTest, SaysWhatIsLeft) {
  ask(reply(5, 50));
  EXPECT_EQ(spend(2, start + milliseconds(10)), Found::admitted);
  EXPECT_EQ(ask(reply(1, 50), start + milliseconds(20)).have, 3U);
  EXPECT_EQ(lease_.held(), 4U);
}

TEST_F(LeaseTest, DropsWhatRedisNoLongerKeeps) {
  ask(reply(5, 50));
  LeaseReply lost = reply(2, 50);
  lost.is_kept = false;
  ask(lost, start + milliseconds(10));
  EXPECT_EQ(lease_.held(), 2U);
}

TEST_F(LeaseTest, WhatIsGivenBackIsNotHeldAgain) {
  ask(reply(5, 50));
  EXPECT_EQ(spend(2, start), Found::admitted);
  lease_.give_back(2);
  lease_.refund(7);
  EXPECT_EQ(lease_.held(), 3U);
  const LeaseAsk next = ask(reply(0, 50), start + milliseconds(10));
  EXPECT_EQ(next.have, 3U);
  EXPECT_EQ(next.back, 2U);
  EXPECT_EQ(next.refund, 7U);
  EXPECT_EQ(ask(reply(0, 50), start + milliseconds(20)).back, 0U) << "only once";
}

// Others may have taken as many since: Redis counts them as out no longer.
TEST_F(LeaseTest, UnitsOfALeaseThatIsOverAreNotGivenBack) {
  for (const bool idles : {false, true}) {
    ask(reply(5, 50));
    const Lease::Time over = start + Lease::spent_for;
    const LeaseAsk next =
        idles ? lease_.ask_nothing(++number_, over) : lease_.ask(++number_, over, true);
    EXPECT_EQ(next.have, 0U);
    EXPECT_EQ(next.back, 0U);
    lease_.answer(next, reply(0, 50), over);
    EXPECT_EQ(lease_.held(), 0U);
  }
}

TEST_F(LeaseTest, UnderAnotherLawUnitsAreAsManyAsComeBackInTheSameTime) {
  const auto terms_of = [](std::uint64_t quota) {
    return LeaseTerms::make(limit::make_law({quota, second}, {}).value(), 10).value();
  };
  ask(reply(5, 50));
  lease_.give_back(4);
  lease_.refund(7);
  lease_.set_terms(terms_of(50), start + milliseconds(10));
  EXPECT_EQ(lease_.held(), 0U);
  const LeaseAsk small = ask(reply(4, 20), start + milliseconds(10));
  EXPECT_EQ(small.have, 0U);
  EXPECT_EQ(small.back, 4U) << "of 4.5";
  EXPECT_EQ(small.refund, 3U) << "of 3.5";
  lease_.set_terms(terms_of(100), start + milliseconds(20));
  const LeaseAsk large = ask(reply(5, 50), start + milliseconds(20));
  EXPECT_EQ(large.back, 8U);
  lease_.set_terms(terms_of(200), start + milliseconds(20) + Lease::spent_for);
  EXPECT_EQ(ask(reply(0, 50), start + milliseconds(20) + Lease::spent_for).back, 0U)
      << "they have come back by themselves";
}

// A unit of `slow` comes back in 36 hours, one of `fast` in less than a nanosecond.
TEST_F(LeaseTest, UnderAnotherLawARefundOfAllStaysOne) {
  constexpr std::uint64_t all = limit::Quota::cost_max;
  const auto terms_of = [](const limit::Quota& quota) {
    return LeaseTerms::make(limit::make_law(quota, {}).value(), 2).value();
  };
  const LeaseTerms slow = terms_of({20, 30 * 86400 * second});
  const LeaseTerms fast = terms_of({999'999'999'989, 60 * second});
  const auto refunded = [&](const LeaseTerms& before, std::uint64_t units, const LeaseTerms& now) {
    lease_.set_terms(before, start);
    lease_.refund(units);
    lease_.set_terms(now, start);
    return ask(reply(0, 50)).refund;
  };
  EXPECT_EQ(refunded(fast, all, slow), all);
  EXPECT_EQ(refunded(slow, all, fast), all);
  EXPECT_EQ(refunded(slow, all - 1, fast), all) << "as many come back in the same time, or more";
}

TEST_F(LeaseTest, ARefundOfAllStaysOneBesideOthers) {
  for (int i = 0; i < 3; ++i) lease_.refund(~std::uint64_t{0});
  EXPECT_EQ(ask(reply(0, 50)).refund, limit::Quota::cost_max);
}

TEST_F(LeaseTest, NoDenialHoldsAfterARefund) {
  const LeaseAsk denied = ask(reply(0, 0));
  lease_.rest(denied, 1);
  EXPECT_TRUE(lease_.denies(1, start + milliseconds(3)));
  lease_.refund(0);
  EXPECT_TRUE(lease_.denies(1, start + milliseconds(3)));
  lease_.refund(1);
  EXPECT_FALSE(lease_.denies(1, start + milliseconds(3)));
}

TEST_F(LeaseTest, GivesBackAllThatIsIdle) {
  ask(reply(5, 50));
  const LeaseAsk nothing = lease_.ask_nothing(9, start + Lease::idle_after);
  EXPECT_EQ(nothing.have, 0U);
  EXPECT_EQ(nothing.want, 0U);
  EXPECT_EQ(nothing.back, 5U);
  EXPECT_EQ(spend(1, start + Lease::idle_after), Found::unknown);
  lease_.answer(nothing, reply(0, 55), start + Lease::idle_after);
  EXPECT_TRUE(lease_.is_empty(start + Lease::idle_after));
}

TEST_F(LeaseTest, TakesAsMuchAheadAsIsSpentSoon) {
  EXPECT_EQ(ask(reply(0, 80)).want, 0U) << "the key may never come again";
  Lease::Time at = start;
  for (const std::uint64_t want : {1U, 2U, 4U, 8U, 10U, 10U}) {
    at += milliseconds(50);
    EXPECT_EQ(ask(reply(want, 80), at).want, want);
    EXPECT_EQ(spend(want, at), Found::admitted);
  }
  at += milliseconds(400);
  EXPECT_EQ(ask(reply(5, 80), at).want, 5U) << "lasted long";
}

TEST_F(LeaseTest, LeavesOtherProcessesTheirPart) {
  LeaseReply five = reply(0, 80);
  five.holders = 5;
  for (int i = 0; i < 5; ++i) ask(five, start + milliseconds(10 * i));
  EXPECT_EQ(ask(five, start + milliseconds(60)).want, 2U);
}

TEST_F(LeaseTest, ShowsWhatIsHereAndWhatRedisWouldGive) {
  ask(reply(3, 40));
  const limit::Decision shown = show(1, Found::admitted, start + milliseconds(2));
  EXPECT_TRUE(shown.admitted);
  EXPECT_EQ(shown.remaining, 43U);
  EXPECT_EQ(shown.reset, 1U);
  // A unit comes back each 10 ms.
  EXPECT_EQ(show(1, Found::admitted, start + milliseconds(103)).remaining, 53U);
  EXPECT_TRUE(show(43, Found::unknown, start + milliseconds(2)).admitted);
  EXPECT_FALSE(show(44, Found::unknown, start + milliseconds(2)).admitted);
}

// Redis keeps a debt of up to the whole window, of which this law gives 900 ms at once.
TEST_F(LeaseTest, WaitsForWhatAnotherLawHasGiven) {
  LeaseReply owed = reply(0, 0);
  owed.first = 1'700'000'000;
  owed.second = 950'000'000;
  ask(owed);
  const Nanos wait = show(1, Found::denied, start + milliseconds(2)).wait;
  EXPECT_EQ(wait, 60'000'000) << "the debt above 900 ms, and one unit";
  const Nanos later = show(1, Found::denied, start + milliseconds(22)).wait;
  EXPECT_GE(later, 40'000'000);
  EXPECT_LE(later, 40'100'000);
}

TEST_F(LeaseTest, RestsUntilRedisCanGive) {
  const LeaseAsk asked = ask(reply(0, 0));
  lease_.rest(asked, 2);
  EXPECT_EQ(spend(2, start + milliseconds(19)), Found::denied);
  EXPECT_EQ(spend(2, start + milliseconds(20)), Found::unknown);
  EXPECT_EQ(spend(1, start + milliseconds(5)), Found::unknown) << "one is there earlier";
  const limit::Decision denied = show(2, Found::denied, start + milliseconds(15));
  EXPECT_EQ(denied.remaining, 1U);
  EXPECT_GE(denied.wait, 7'000'000);
  EXPECT_LE(denied.wait, 7'100'000);
  EXPECT_EQ(denied.reset, 1U);
  EXPECT_EQ(show(91, Found::denied, start).wait, limit::Decision::never);
}

TEST_F(LeaseTest, RestsUntilAllProcessesCanHaveALump) {
  LeaseReply none = reply(0, 0);
  none.holders = 2;
  for (int i = 0; i < 4; ++i) ask(none, start + milliseconds(i));
  const LeaseAsk asked = ask(none, start + milliseconds(5));
  lease_.rest(asked, 1);
  // Two lumps of five units in 100 ms.
  EXPECT_EQ(spend(1, start + milliseconds(104)), Found::denied);
  EXPECT_EQ(spend(1, start + milliseconds(105)), Found::unknown);
}

TEST_F(LeaseTest, AsksAheadOnce) {
  Lease::Time at = start;
  for (int i = 0; i < 6; ++i) ask(reply(0, 80), at += milliseconds(1));
  ask(reply(10, 80), at += milliseconds(1));
  EXPECT_FALSE(lease_.becomes_low(at));
  EXPECT_EQ(spend(10, at), Found::admitted);
  EXPECT_TRUE(lease_.becomes_low(at));
  EXPECT_FALSE(lease_.becomes_low(at));
  static_cast<void>(lease_.ask(100, at));
  lease_.fail(at);
  EXPECT_FALSE(lease_.becomes_low(at)) << "not at once after a failure";
  EXPECT_TRUE(lease_.becomes_low(at + milliseconds(20)));
}

class LeasedWindow : public LeaseTest {
 protected:
  LeasedWindow() : LeaseTest(window) {}
  // A window that ends in `left`, of which Redis has given `given`.
  LeaseReply reply(std::uint64_t units, std::int64_t given, std::chrono::microseconds left) {
    LeaseReply reply;
    reply.now = redis_now;
    reply.is_kept = true;
    reply.given = units;
    reply.there = 100 - static_cast<std::uint64_t>(given);
    reply.first = 1'700'000'000'000'000 + left.count();
    reply.second = given;
    return reply;
  }
};

TEST_F(LeasedWindow, EndsWithTheWindow) {
  ask(reply(3, 10, milliseconds(500)));
  EXPECT_EQ(spend(1, start + milliseconds(499)), Found::admitted);
  EXPECT_EQ(spend(1, start + milliseconds(500)), Found::unknown);
}

TEST_F(LeasedWindow, ShowsWhatTheWindowHasLeft) {
  ask(reply(3, 10, seconds(30)));
  EXPECT_EQ(show(1, Found::admitted, start + milliseconds(2)).remaining, 93U);
  const LeaseAsk asked = ask(reply(0, 100, seconds(30)), start);
  EXPECT_EQ(spend(3, start), Found::admitted);
  lease_.rest(asked, 1);
  EXPECT_EQ(spend(1, start + milliseconds(900)), Found::denied) << "asked again after a second";
  EXPECT_EQ(show(1, Found::denied, start + milliseconds(2)).retry_after(), 30U);
}

TEST_F(LeasedWindow, GivesBackWhatIsOver) {
  ask(reply(4, 10, seconds(30)));
  const LeaseAsk late = lease_.ask(7, start + seconds(2));
  EXPECT_EQ(late.have, 0U);
  EXPECT_EQ(late.back, 4U);
}

TEST_F(LeasedWindow, GivesBackOnlyToTheSameWindow) {
  ask(reply(3, 10, milliseconds(100)));
  EXPECT_EQ(spend(1, start), Found::admitted);
  const LeaseAsk asked = lease_.ask(7, start);
  EXPECT_EQ(asked.window, 1'700'000'000'100'000);
  lease_.give_back(1);
  lease_.answer(asked, reply(0, 0, seconds(60)), start);
  EXPECT_EQ(ask(reply(0, 0, seconds(60))).back, 0U);
}

}  // namespace
}  // namespace headgate::redis
