// Concurrency: at most q units at the same time, whatever they take.
//
// A slot is taken by spend() and comes back by refund(), which here is a release. A release that
// never comes (a worker died) is made good by the lease: a slot counts for no longer than that.
// Nobody can know when a slot will come back, so there is no t and no Retry-After.
//
// Pure: the log of slots is the caller's; a record's time is when the slot was taken [ns].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/log.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

class Concurrency {
 public:
  static constexpr Nanos lease_max = Nanos{1} << 62;

  // The quota's window has no meaning. std::nullopt where the quota is 0 or out of range, the
  // lease or the log's bound is, denials are to cost something, or costs are to come late.
  [[nodiscard]] static constexpr std::optional<Concurrency> make(const Quota& quota,
                                                                 const Terms& terms) noexcept {
    if (quota.units < 1 || quota.units > Quota::units_max) return std::nullopt;
    if (terms.denied != Denied::free || terms.penalty != 0 || terms.late) return std::nullopt;
    if (terms.lease < 1 || terms.lease > lease_max) return std::nullopt;
    if (terms.log < 1 || terms.log > Terms::log_max) return std::nullopt;
    Concurrency law;
    law.quota_ = quota.units;
    law.lease_ = static_cast<std::int64_t>(terms.lease);
    law.log_max_ = static_cast<std::size_t>(std::min<std::uint64_t>(terms.log, quota.units));
    return law;
  }

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return quota_; }
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  // Records that a key needs at most.
  [[nodiscard]] constexpr std::size_t log_max() const noexcept { return log_max_; }

  // Takes `cost` slots if they are free.
  template <Log L>
  [[nodiscard]] Decision spend(L& log, std::uint64_t cost, Instant now) const noexcept {
    const std::int64_t at = settle(log, now);
    if (cost > available(log.units())) return answer(log.units(), false);
    const std::uint64_t used = log.units() + cost;
    if (cost > 0) log::add(log, {at, cost}, log_max_);
    return answer(used, true);
  }

  // Whether spend() would admit. Leaves the log as it is.
  template <Log L>
  [[nodiscard]] bool admits(const L& log, std::uint64_t cost, Instant now) const noexcept {
    return cost <= available(log::units_after(log, held(now) - lease_));
  }

  // Answers as spend() would and takes nothing. A cost of 0 is a look: never denied.
  template <Log L>
  [[nodiscard]] Decision peek(L& log, std::uint64_t cost, Instant now) const noexcept {
    settle(log, now);
    if (cost > available(log.units())) return answer(log.units(), false);
    return answer(log.units() + cost, true);
  }

  // Releases `cost` slots that were taken at `since`: those, or none if their lease is over. If
  // that moment is unknown, the newest.
  template <Log L>
  [[nodiscard]] Decision refund(L& log, std::uint64_t cost, Instant now,
                                Instant since = {}) const noexcept {
    settle(log, now);
    if (since == Instant{}) {
      log::take_back(log, log.size(), cost);
    } else {
      const std::int64_t taken = held(since);
      std::size_t i = log::find(log, taken);
      const bool there = i < log.size() && log.get(i).time == taken;
      // Only a log that can be full merges a slot into a later one. And a request of another
      // process that had read the clock a little earlier has moved the slot back to its own time.
      const bool merged = i < log.size() && log_max_ < quota_;
      if (!there && !merged && i > 0) --i;
      if (i < log.size() && taken > held(now) - lease_) {
        log::take_back(log, i, std::min(cost, log.get(i).cost));
      }
    }
    return answer(log.units(), true);
  }

  // Takes up to `cost` slots, as many as are free. Never denied.
  template <Log L>
  [[nodiscard]] Decision debit(L& log, std::uint64_t cost, Instant now) const noexcept {
    settle(log, now);
    return spend(log, std::min(cost, available(log.units())), now);
  }

  // When the last lease ends [ns].
  template <Log L>
  [[nodiscard]] Nanos full_at(const L& log) const noexcept {
    if (log.size() == 0) return std::numeric_limits<std::int64_t>::min();
    return static_cast<Nanos>(log.get(log.size() - 1).time) + lease_;
  }

 private:
  [[nodiscard]] constexpr std::int64_t held(Instant now) const noexcept {
    constexpr Nanos latest = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::clamp<Nanos>(now.ns, -latest + lease_, latest));
  }

  template <Log L>
  std::int64_t settle(L& log, Instant now) const noexcept {
    const std::int64_t at = held(now);
    log::settle(log, at - lease_, at);
    return at;
  }

  [[nodiscard]] constexpr std::uint64_t available(std::uint64_t used) const noexcept {
    return quota_ - std::min(used, quota_);
  }

  [[nodiscard]] constexpr Decision answer(std::uint64_t used, bool admitted) const noexcept {
    return {admitted, available(used), Decision::no_reset, admitted ? 0 : Decision::never};
  }

  std::uint64_t quota_ = 0;
  std::int64_t lease_ = 0;  // [ns]
  std::size_t log_max_ = 0;
};

}  // namespace headgate::limit
