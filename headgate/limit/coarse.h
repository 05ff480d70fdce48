// The linear law for keys that share one state, because a store has no room for each of them.
//
// The state is a debt: the time until everything that was taken is back, when a unit takes
// window / quota. It is the same for every quota and every law: each key adds the share of its own
// window that it takes. A key that shares a state can wait for what others took; it never gets more
// than the linear law grants.
//
// Pure: no clock, no allocation. Debts are whole nanoseconds, rounded up.
// docs/algorithms.md#a-full-table says what is promised for each law.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"

namespace headgate::limit {

// The class of a span of time [ns]: the least n for which 2^n ns are at least as long; at most 63.
using SpanClass = std::uint8_t;
inline constexpr unsigned span_class_bits = 6;
[[nodiscard]] constexpr SpanClass span_class(Nanos span) noexcept {
  if (span > Nanos{1} << 62) return 63;
  return span <= 1 ? 0
                   : static_cast<SpanClass>(std::bit_width(static_cast<std::uint64_t>(span - 1)));
}
// The longest span of a class [ns].
[[nodiscard]] constexpr Nanos longest_span(unsigned span_class) noexcept {
  return Nanos{1} << span_class;
}

class Coarse {
 public:
  // Longer windows count as one of 18 years [ns], so that a few of them fit into 64 bits.
  static constexpr Nanos window_max = Nanos{1} << 59;
  static constexpr Nanos longest_max = 2 * window_max;

  // `owed`: how far beyond the window a key may owe [ns].
  constexpr Coarse(const Answer& answer, Denied denied, Nanos owed) noexcept
      : answer_(answer),
        window_(std::min(answer.window(), window_max)),
        owed_(std::min(owed, window_max)),
        denied_(denied) {}
  // Of slots, each for `lease` [ns]: when they are free again is unknown.
  [[nodiscard]] static constexpr Coarse of_slots(std::uint64_t quota, Nanos lease) noexcept {
    Coarse coarse(Answer({quota, lease}, {}), Denied::free, 0);
    coarse.slots_ = true;
    return coarse;
  }

  [[nodiscard]] constexpr SpanClass window_class() const noexcept {
    return span_class(answer_.window());
  }
  [[nodiscard]] constexpr bool slots() const noexcept { return slots_; }
  // The longest debt of a lone key that is not denied [ns].
  [[nodiscard]] constexpr Nanos longest() const noexcept { return window_ + owed_; }

  struct Step {
    Nanos added = 0;  // to the debt [ns]
    Decision decision;
  };

  // `debt` [ns] is that of the key, or more. Like the functions of the same name of every law.
  [[nodiscard]] constexpr Step spend(Nanos debt, std::uint64_t cost) const noexcept {
    if (admits(debt, cost)) {
      const Nanos added = share(cost);
      return {added, admission(debt + added)};
    }
    if (denied_ == Denied::free || cost > answer_.quota()) return {0, denial(debt, cost)};
    const Nanos next = std::max(debt, std::min(debt, longest()) + share(cost));
    return {next - debt, denial(next, cost)};
  }
  [[nodiscard]] constexpr Step peek(Nanos debt, std::uint64_t cost) const noexcept {
    return {0, cost == 0 ? admission(debt) : spend(debt, cost).decision};
  }
  [[nodiscard]] constexpr Step debit(Nanos debt, std::uint64_t cost) const noexcept {
    const Nanos added = std::clamp<Nanos>(longest() - debt, 0, share(cost));
    return {added, admission(debt + added)};
  }
  [[nodiscard]] constexpr bool admits(Nanos debt, std::uint64_t cost) const noexcept {
    if (cost > answer_.quota()) return false;
    return (cost == 0 && denied_ == Denied::free) || debt + share(cost) <= window_;
  }

  // What is still to be returned of `cost` slots, `age` after they were taken [ns]. If charges are
  // added one after the other, the debt is greater by at least that than it would be without them,
  // whatever others took and gave back meanwhile.
  [[nodiscard]] constexpr Nanos left(std::uint64_t cost, Nanos age) const noexcept {
    return std::max<Nanos>(share(cost) - std::max<Nanos>(age, 0), 0);
  }
  // The units that a key with this debt has taken, rounded up.
  [[nodiscard]] constexpr std::uint64_t units(Nanos debt) const noexcept {
    const Nanos owed = std::clamp<Nanos>(debt, 0, longest());
    return static_cast<std::uint64_t>(
        ceil_div(owed * static_cast<Nanos>(answer_.quota()), window_));
  }
  // The answer to a request that takes nothing and is never denied.
  [[nodiscard]] constexpr Decision admission(Nanos debt) const noexcept {
    if (slots_) return {.admitted = true, .remaining = available(debt)};
    return answer_.admission(available(debt),
                             [&](std::uint64_t units) { return wait(debt, units); });
  }

 private:
  // The debt of `cost` units [ns]. No law charges more than two quotas at once.
  [[nodiscard]] constexpr Nanos share(std::uint64_t cost) const noexcept {
    if (answer_.quota() == 0) return 0;
    const auto charged = static_cast<Nanos>(std::min(cost, 2 * answer_.quota()));
    return ceil_div(charged * window_, static_cast<Nanos>(answer_.quota()));
  }
  [[nodiscard]] constexpr std::uint64_t available(Nanos debt) const noexcept {
    if (debt >= window_) return 0;
    return static_cast<std::uint64_t>((window_ - debt) * static_cast<Nanos>(answer_.quota()) /
                                      window_);
  }
  [[nodiscard]] constexpr Nanos wait(Nanos debt, std::uint64_t units) const noexcept {
    return std::max<Nanos>(debt + share(units) - window_, 0);
  }
  [[nodiscard]] constexpr Decision denial(Nanos debt, std::uint64_t cost) const noexcept {
    if (slots_) return {.remaining = available(debt), .wait = Decision::never};
    return answer_.denial(available(debt), cost,
                          [&](std::uint64_t units) { return wait(debt, units); });
  }

  Answer answer_;
  Nanos window_;
  Nanos owed_;
  Denied denied_;
  bool slots_ = false;
};

}  // namespace headgate::limit
