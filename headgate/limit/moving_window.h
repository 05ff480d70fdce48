// The moving window: every admitted request counts for exactly one window.
//
// It is the only law under which any span of a window's length contains at most the quota, and a
// client gets back each unit exactly one window after it spent it. The price is a log: one record
// for each moment at which something was admitted, at most `log` of them. In a full log the two
// closest neighbours are merged at the later time: never too much is admitted, but units can come
// back later.
//
// Pure: the log is the caller's. A decision takes as many steps as there are expired records, or,
// if the log is full, as it has records. Derivation: docs/algorithms.md#moving-window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/log.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

class MovingWindow {
 public:
  // std::nullopt if the quota is 0 or out of range, its product with the window needs more than 128
  // bits, the log's maximum is out of range, or denials are to cost something.
  [[nodiscard]] static constexpr std::optional<MovingWindow> make(const Quota& quota,
                                                                  const Terms& terms) noexcept {
    if (!Answer::servable(quota)) return std::nullopt;
    if (terms.denied != Denied::free || terms.penalty != 0) return std::nullopt;
    if (terms.log < 1 || terms.log > Terms::log_max) return std::nullopt;
    MovingWindow law;
    law.answer_ = Answer(quota, terms);
    law.most_ = terms.late ? 2 * quota.units : quota.units;
    law.log_max_ = static_cast<std::size_t>(std::min<std::uint64_t>(terms.log, law.most_));
    law.tick_ = quota.window <= fine_window_max ? 1 : coarse_tick;
    return law;
  }

  [[nodiscard]] constexpr std::uint64_t quota() const noexcept { return answer_.quota(); }
  [[nodiscard]] constexpr Parameters parameters() const noexcept {
    return {{answer_.quota(), answer_.window()},
            {.reset = answer_.reset(),
             .algorithm = Algorithm::moving_window,
             .late = most_ > quota(),
             .log = static_cast<std::uint32_t>(log_max_)}};
  }
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  // The linear law for keys that share a state.
  [[nodiscard]] constexpr Coarse coarse() const noexcept {
    return {answer_, Denied::free, most_ > quota() ? answer_.window() : 0};
  }
  // The most records that a key needs.
  [[nodiscard]] constexpr std::size_t log_max() const noexcept { return log_max_; }

  // Takes `cost` units at `now` if they are available.
  template <Log L>
  [[nodiscard]] Decision spend(L& log, std::uint64_t cost, Instant now) const noexcept {
    const Nanos at = expire(log, now);
    if (cost > available(log.units())) return denial(log, at, cost);
    const Record spent{stamp(at), cost};
    if (cost == 0 || log::add(log, spent, log_max_)) return admission(log, at);
    return admission(log::Added(log, spent, log_max_), at);
  }

  // Whether spend() would admit. Does not change the log.
  template <ReadableLog L>
  [[nodiscard]] bool admits(const L& log, std::uint64_t cost, Instant now) const noexcept {
    return cost <= available(log::units_after(log, horizon(clamped(now))));
  }

  // Decides as spend() would and takes nothing. A cost of 0 reads the state and is never denied.
  template <Log L>
  [[nodiscard]] Decision peek(L& log, std::uint64_t cost, Instant now) const noexcept {
    const Nanos at = expire(log, now);
    if (cost > available(log.units())) return denial(log, at, cost);
    if (cost == 0) return admission(log, at);
    return admission(log::Added(log, {stamp(at), cost}, log_max_), at);
  }

  // Gives back up to `cost` units that were spent at `since`. If that moment is unknown ({}), gives
  // back the oldest units: those would expire first, so this never gives back too much.
  // Quota::cost_max of them: all.
  template <Log L>
  [[nodiscard]] Decision refund(L& log, std::uint64_t cost, Instant now,
                                Instant since = {}) const noexcept {
    const Nanos at = expire(log, now);
    const std::uint64_t given = cost >= Quota::cost_max ? log.units() : cost;
    log::take_back(log, log::find(log, stamp(clamped(since))), given);
    return admission(log, at);
  }

  // Takes `cost` units that are already spent. Never denied. The debt is at most one quota; without
  // Terms::late there is none.
  template <Log L>
  [[nodiscard]] Decision debit(L& log, std::uint64_t cost, Instant now) const noexcept {
    const Nanos at = expire(log, now);
    const std::uint64_t taken = std::min(cost, most_ - std::min(log.units(), most_));
    if (taken > 0) log::add(log, {stamp(at), taken}, log_max_);
    return admission(log, at);
  }

  // When the quota is full again [ns]. From then on the log is not needed.
  template <ReadableLog L>
  [[nodiscard]] Nanos full_at(const L& log) const noexcept {
    if (log.size() == 0) return -Answer::latest;
    return expiry(log.get(log.size() - 1));
  }

 private:
  // A record has 64 bits for its time. They are enough for nanoseconds if the window is at most 146
  // years; for longer windows times are rounded up to milliseconds, so that no unit comes back
  // early.
  static constexpr Nanos fine_window_max = Nanos{1} << 62;
  static constexpr Nanos coarse_tick = 1'000'000;

  [[nodiscard]] constexpr Nanos clamped(Instant now) const noexcept {
    constexpr Nanos ticks_max = (Nanos{1} << 63) - 1;
    return std::clamp(now.ns, -ticks_max * tick_ + answer_.window(), ticks_max * tick_);
  }
  [[nodiscard]] constexpr std::int64_t stamp(Nanos at) const noexcept {
    return static_cast<std::int64_t>(ceil_div(at, tick_));
  }
  // Records of this time or earlier have expired.
  [[nodiscard]] constexpr std::int64_t horizon(Nanos at) const noexcept {
    return static_cast<std::int64_t>(floor_div(at - answer_.window(), tick_));
  }
  [[nodiscard]] constexpr Nanos expiry(const Record& record) const noexcept {
    return record.time * tick_ + answer_.window();
  }

  template <Log L>
  Nanos expire(L& log, Instant now) const noexcept {
    const Nanos at = clamped(now);
    log::expire(log, horizon(at), stamp(at));
    return at;
  }

  [[nodiscard]] constexpr std::uint64_t available(std::uint64_t used) const noexcept {
    return quota() - std::min(used, quota());
  }

  // The least time until `units` can be spent at once [ns].
  template <ReadableLog L>
  [[nodiscard]] Nanos wait(const L& log, Nanos at, std::uint64_t units) const noexcept {
    std::uint64_t used = log.units();
    Nanos span = 0;
    for (std::size_t i = 0; used + units > quota() && i < log.size(); ++i) {
      const Record record = log.get(i);
      used -= record.cost;
      // A record that is later than now was damaged.
      span = std::min(expiry(record), stamp(at) * tick_ + answer_.window()) - at;
    }
    return span;
  }

  template <ReadableLog L>
  [[nodiscard]] Decision admission(const L& log, Nanos at) const noexcept {
    return answer_.admission(available(log.units()),
                             [&](std::uint64_t units) { return wait(log, at, units); });
  }

  template <ReadableLog L>
  [[nodiscard]] Decision denial(const L& log, Nanos at, std::uint64_t cost) const noexcept {
    return answer_.denial(available(log.units()), cost,
                          [&](std::uint64_t units) { return wait(log, at, units); });
  }

  Answer answer_;
  std::uint64_t most_ = 0;  // the largest sum of used units, with debts
  std::size_t log_max_ = 0;
  Nanos tick_ = 1;  // the unit of a record's time [ns]
};

}  // namespace headgate::limit
