// What a process holds of one key: units that it took from Redis ahead, and may spend until its
// lease ends.
//
// Why this never passes the quota: docs/decisions/0020-leases.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/redis/boot_clock.h"
#include "headgate/redis/lease/terms.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// What a process says to Redis about one key.
struct LeaseAsk {
  std::uint64_t number = 0;  // greater than that of every earlier one
  std::uint64_t have = 0;    // units that are out at this process
  std::uint64_t back = 0;    // that it took and gives back unspent
  std::uint64_t refund = 0;  // that were spent and are given back
  std::uint64_t want = 0;    // that it would like to take
  std::int64_t window = 0;   // the end of the window that `back` is of [us]
  BootClock::time_point at;  // before it is sent
};

// What Redis answers.
struct LeaseReply {
  Instant now;              // Redis' clock
  bool is_old = false;      // a later ask came first, so that nothing was done
  bool is_kept = false;     // the lease had not ended before
  std::uint64_t given = 0;  // units taken
  std::uint64_t there = 0;  // that could be given besides
  std::int64_t first = 0;   // the law's state, as lease.lua keeps it
  std::int64_t second = 0;
  std::uint64_t holders = 1;          // processes with a lease
  std::vector<std::uint64_t> served;  // of each group that waited, how many
};

// Not thread-safe. Times are passed, so that tests need no clock.
class Lease {
 public:
  using Time = BootClock::time_point;
  using Span = BootClock::duration;

  // How long a process spends what it has taken, and how long Redis counts that as out. The
  // difference covers that clocks do not run equally fast.
  static constexpr Span spent_for = std::chrono::milliseconds(1000);
  static constexpr Span out_for = std::chrono::milliseconds(1100);
  // What is not used up after this time is given back.
  static constexpr Span idle_after = spent_for / 2;

  enum class Found : std::uint8_t {
    admitted,
    denied,
    unknown,  // only Redis knows
  };

  explicit Lease(const LeaseTerms& terms) noexcept : terms_(terms) {}

  [[nodiscard]] const LeaseTerms& terms() const noexcept { return terms_; }
  // From the next ask on, the key is under this law. It gives back what is here of the former one,
  // whose denials do not hold any more. REQUIRES: the same kind, !is_asking().
  void set_terms(const LeaseTerms& terms, Time now) noexcept;

  // Takes `cost` units, at least 1, if they are here. `clock` returns the time. It is read after
  // the units are gone: then a process that is stopped in between finds, when it goes on, that its
  // lease has ended, and the units come to nothing. Sets `now` to what was read.
  template <class Clock>
  [[nodiscard]] Found spend(std::uint64_t cost, const Clock& clock, Time& now) noexcept {
    const bool has = held_ >= cost;
    if (has) held_ -= cost;
    now = clock();
    if (has && now < end_) return Found::admitted;
    if (has) held_ += cost;
    return denies(cost, now) ? Found::denied : Found::unknown;
  }
  // Whether spend() would find them denied.
  [[nodiscard]] bool denies(std::uint64_t cost, Time now) const noexcept {
    if (held_ >= cost && now < end_) return false;
    return now < rest_end_ && cost >= rest_cost_;
  }
  // Units that were taken for a request which is denied after all. They are not held again: Redis
  // may have been told meanwhile that they are spent.
  void give_back(std::uint64_t units) noexcept { back_ += units; }
  // Denials do not hold any more.
  void end_denials() noexcept { rest_end_ = Time(); }
  // Refunds add up to at most Quota::cost_max units, which give everything back.
  void refund(std::uint64_t units) noexcept {
    refund_ += std::min(units, limit::Quota::cost_max - refund_);
    if (units > 0) end_denials();
  }

  // What to show of a charge that was found so, at `now`. `unknown`: of one that takes nothing.
  [[nodiscard]] limit::Decision decision(const store::Charge& charge, Found found,
                                         Time now) const noexcept;
  // Whether Redis has answered so lately that decision() shows about what it would.
  [[nodiscard]] bool is_fresh(Time now) const noexcept {
    return is_known_ && now - asked_ < spent_for;
  }

  // ---- asking Redis

  [[nodiscard]] bool is_asking() const noexcept { return is_asking_; }
  // Whether it is time to ask for more, although no request waits. True once for each ask.
  [[nodiscard]] bool becomes_low(Time now) noexcept {
    if (is_asking_ || is_low_ || held_ >= lump_ / low_part) return false;
    if (now < rest_end_ || now < ask_after_) return false;
    is_low_ = true;
    return true;
  }
  // Begins to ask. `is_short`: requests wait that cost more than is here. REQUIRES: !is_asking().
  [[nodiscard]] LeaseAsk ask(std::uint64_t number, Time now, bool is_short = false) noexcept;
  // The same, for what takes nothing.
  [[nodiscard]] LeaseAsk look(std::uint64_t number, Time now) noexcept {
    return begin(number, now, false);
  }
  // The same, to give back all that is idle.
  [[nodiscard]] LeaseAsk ask_nothing(std::uint64_t number, Time now) noexcept;
  // REQUIRES: !reply.is_old
  void answer(const LeaseAsk& ask, const LeaseReply& reply, Time now) noexcept;
  // After answer(): Redis could not give `cost` units. Until it can, this is not asked again.
  void rest(const LeaseAsk& ask, std::uint64_t cost) noexcept;
  // No answer comes.
  void fail(Time now) noexcept;

  // Whether nothing is lost if this is forgotten.
  [[nodiscard]] bool is_empty(Time now) const noexcept {
    return !is_asking_ && (held_ == 0 || now >= end_) && back_ == 0 && refund_ == 0;
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint64_t held() const noexcept { return held_; }

 private:
  static constexpr std::uint64_t low_part = 8;
  // A lump that lasts for less than this is doubled.
  static constexpr Span lump_lasts = spent_for / 4;
  // How long at most a process does not ask because lumps have to gather in Redis, or because a
  // denial holds.
  static constexpr Span gathering = std::chrono::milliseconds(100);
  static constexpr Span rest_max = std::chrono::seconds(1);
  // After an ask that failed.
  static constexpr Span failure_rest = std::chrono::milliseconds(20);

  LeaseAsk begin(std::uint64_t number, Time now, bool gives_back) noexcept;
  std::uint64_t held_back(Time now) noexcept;
  [[nodiscard]] Instant redis_time(Time now) const noexcept;
  [[nodiscard]] Nanos debt() const noexcept;
  [[nodiscard]] bool owes_more() const noexcept;
  [[nodiscard]] Nanos until(std::uint64_t units) const noexcept;

  LeaseTerms terms_;
  std::uint64_t held_ = 0;
  Time end_;  // of the lease, here

  std::uint64_t back_ = 0;
  std::uint64_t refund_ = 0;  // 0..Quota::cost_max
  std::uint64_t lump_ = 0;    // how many units to have after the next ask
  std::uint64_t number_ = 0;
  bool is_asking_ = false;
  bool is_low_ = false;
  Time asked_;
  Time ask_after_;  // without need

  // Redis' last answer.
  bool is_known_ = false;
  Instant redis_now_;
  Time answered_;
  std::int64_t first_ = 0;
  std::int64_t second_ = 0;
  std::uint64_t holders_ = 1;

  // Until then costs from this on are denied.
  Time rest_end_;
  std::uint64_t rest_cost_ = 1;
};

}  // namespace headgate::redis
