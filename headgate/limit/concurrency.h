// Concurrency: at most q units are in use at the same time, for however long each.
//
// spend() takes a slot; refund(), which here is a release, gives it back. A slot counts for no
// longer than its lease, so a release that is never made (a worker died) blocks it only that long.
// When a slot will be released is unknown, so there is no t and no Retry-After.
//
// Pure: the log of slots is the caller's; a record's time is when its slots were taken [ns].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/log.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

class Concurrency {
 public:
  static constexpr Nanos lease_max = Nanos{1} << 62;  // 146 years: sums with it fit into 64 bits

  // Ignores the quota's window. std::nullopt if the quota is 0 or out of range, the lease or the
  // log's maximum is out of range, denials are to cost something, or costs are to be charged late.
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
  [[nodiscard]] constexpr Parameters parameters() const noexcept {
    return {{.units = quota_},
            {.algorithm = Algorithm::concurrency,
             .log = static_cast<std::uint32_t>(log_max_),
             .lease = lease_}};
  }
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  // The linear law for keys that share a state.
  [[nodiscard]] constexpr Coarse coarse() const noexcept {
    return Coarse::of_slots(quota_, lease_);
  }
  // The most records that a key needs.
  [[nodiscard]] constexpr std::size_t log_max() const noexcept { return log_max_; }

  // Takes `cost` slots if that many are free.
  template <Log L>
  [[nodiscard]] Decision spend(L& log, std::uint64_t cost, Instant now) const noexcept {
    const std::int64_t at = expire(log, now);
    if (cost > available(log.units())) return answer(log.units(), false);
    const std::uint64_t used = log.units() + cost;
    if (cost > 0) log::add(log, {at, cost}, log_max_);
    return answer(used, true);
  }

  // Whether spend() would admit. Does not change the log.
  template <Log L>
  [[nodiscard]] bool admits(const L& log, std::uint64_t cost, Instant now) const noexcept {
    return cost <= available(log::units_after(log, clamped(now) - lease_));
  }

  // Decides as spend() would and takes nothing. A cost of 0 reads the state and is never denied.
  template <Log L>
  [[nodiscard]] Decision peek(L& log, std::uint64_t cost, Instant now) const noexcept {
    expire(log, now);
    if (cost > available(log.units())) return answer(log.units(), false);
    return answer(log.units() + cost, true);
  }

  // Releases `cost` slots that were taken at `since`; none if their lease is over. If that moment
  // is unknown ({}), releases the newest slots.
  template <Log L>
  [[nodiscard]] Decision refund(L& log, std::uint64_t cost, Instant now,
                                Instant since = {}) const noexcept {
    expire(log, now);
    if (since == Instant{}) {
      log::take_back(log, log.size(), cost);
    } else {
      const std::int64_t taken = clamped(since);
      std::size_t i = log::find(log, taken);
      const bool there = i < log.size() && log.get(i).time == taken;
      // No record of that very time is there if the log was full and the slot was merged into a
      // later record, if a request that had read the clock earlier set the slot to its own time, or
      // if `since` was read from a clock whose distance to this one is known only nearly.
      const bool merged = i < log.size() && log_max_ < quota_;
      if (!there && !merged && i > 0 && is_earlier_one(log, i, taken, cost)) --i;
      if (i < log.size() && taken > clamped(now) - lease_) {
        log::take_back(log, i, cost);  // what is not in this record is in its neighbours
      }
    }
    return answer(log.units(), true);
  }

  // Takes up to `cost` slots, as many as are free. Never denied.
  template <Log L>
  [[nodiscard]] Decision debit(L& log, std::uint64_t cost, Instant now) const noexcept {
    expire(log, now);
    return spend(log, std::min(cost, available(log.units())), now);
  }

  // When the last lease ends [ns].
  template <Log L>
  [[nodiscard]] Nanos full_at(const L& log) const noexcept {
    if (log.size() == 0) return std::numeric_limits<std::int64_t>::min();
    return static_cast<Nanos>(log.get(log.size() - 1).time) + lease_;
  }

 private:
  [[nodiscard]] constexpr std::int64_t clamped(Instant now) const noexcept {
    constexpr Nanos latest = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::clamp<Nanos>(now.ns, -latest + lease_, latest));
  }

  template <Log L>
  std::int64_t expire(L& log, Instant now) const noexcept {
    const std::int64_t at = clamped(now);
    log::expire(log, at - lease_, at);
    return at;
  }

  // Of two neighbours, whether the slots that were taken at about `taken` are in the earlier one:
  // that which has as many, or else the nearer one. `later`: the index of the other one, or size().
  template <ReadableLog L>
  [[nodiscard]] static bool is_earlier_one(const L& log, std::size_t later, std::int64_t taken,
                                           std::uint64_t cost) noexcept {
    if (later == log.size()) return true;
    const Record before = log.get(later - 1);
    const Record after = log.get(later);
    if ((before.cost >= cost) != (after.cost >= cost)) return before.cost >= cost;
    return Nanos{taken} - before.time <= Nanos{after.time} - taken;
  }

  [[nodiscard]] constexpr std::uint64_t available(std::uint64_t used) const noexcept {
    return quota_ - std::min(used, quota_);
  }

  [[nodiscard]] constexpr Decision answer(std::uint64_t used, bool admitted) const noexcept {
    return {
        .admitted = admitted, .remaining = available(used), .wait = admitted ? 0 : Decision::never};
  }

  std::uint64_t quota_ = 0;
  std::int64_t lease_ = 0;  // [ns]
  std::size_t log_max_ = 0;
};

}  // namespace headgate::limit
