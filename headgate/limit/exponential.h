// The exponential law: a measured rate, smoothed over the window, must not exceed the quota.
//
// After Tony Finch's "exponentially weighted moving average": a request of cost c that comes x
// windows after the last one makes the rate c * (1 - e^-x) / x + e^-x * rate, and at least c. It is
// admitted while that is at most q per window. A client that was too fast waits longer than under
// the linear law; one that spreads its requests gets the whole quota. Not additive: a request of
// cost n is cheaper than n of cost 1, and the advertised quota per window is not kept for repeated
// bursts. r counts unit requests, the worst case.
//
// Pure: no clock, no allocation, no failure after construction. The rate is a double, the one
// number in this room that is rounded; r allows for it. All functions are thread-safe. Derivation,
// and what is not promised: docs/algorithms.md#exponential.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/step.h"

namespace headgate::limit {

class Exponential {
 public:
  struct State {
    std::int64_t time_high;  // of the last change [ns], 128 bits in two words
    std::uint64_t time_low;
    double rate;  // units a window, as of then

    [[nodiscard]] constexpr Nanos time() const noexcept {
      return static_cast<Nanos>(static_cast<u128>(static_cast<u128>(time_high) << 64) | time_low);
    }
  };

  // std::nullopt where the quota is 0 or out of range, its product with the window is beyond 128
  // bits, or a denial has a penalty.
  [[nodiscard]] static std::optional<Exponential> make(const Quota& quota,
                                                       const Terms& terms) noexcept;

  [[nodiscard]] std::uint64_t quota() const noexcept { return answer_.quota(); }
  [[nodiscard]] bool denial_costs() const noexcept { return denied_ != Denied::free; }

  // Asks for `cost` units at `now`; takes them if the rate allows. cost 0 changes nothing, and is
  // denied only while denials have made the rate greater than the quota. A denial's wait is in
  // whole seconds: the least number that is enough, found by search.
  [[nodiscard]] Step<State> spend(const std::optional<State>& state, std::uint64_t cost,
                                  Instant now) const noexcept;

  // Whether spend() would admit: its answer without the numbers.
  [[nodiscard]] bool admits(const std::optional<State>& state, std::uint64_t cost,
                            Instant now) const noexcept;

  // Answers as spend() would and takes nothing. A cost of 0 is a look: never denied.
  [[nodiscard]] Step<State> peek(const std::optional<State>& state, std::uint64_t cost,
                                 Instant now) const noexcept;

  // Gives back `cost` units as if they had come in one burst with the last request, at most all.
  // The state does not know how far apart requests were: if they were, this is a little too much.
  [[nodiscard]] Step<State> refund(const std::optional<State>& state, std::uint64_t cost,
                                   Instant now) const noexcept;

  // Takes `cost` units that are already spent. Never denied; the rate is at most twice the quota
  // after it, and at most the quota without Terms::late.
  [[nodiscard]] Step<State> debit(const std::optional<State>& state, std::uint64_t cost,
                                  Instant now) const noexcept;

  // When the state says nothing any more [ns].
  [[nodiscard]] Nanos full_at(const State& state) const noexcept;

 private:
  // The state as a request finds it.
  struct Seen {
    Nanos time = 0;
    double rate = 0;     // as of `time`
    bool known = false;  // false: a key never seen
    bool moved = false;  // it differs from what is stored

    [[nodiscard]] State state() const noexcept {
      return {static_cast<std::int64_t>(time >> 64), static_cast<std::uint64_t>(time), rate};
    }
  };

  // What time makes of a rate.
  struct Decay {
    double windows = 0;  // x, since the state's time
    double mean = 1;     // (1 - e^-x) / x
    double left = 1;     // e^-x
  };

  [[nodiscard]] static Decay decay_over(double windows) noexcept;
  [[nodiscard]] Seen look(const std::optional<State>& state, Nanos at) const noexcept;
  [[nodiscard]] Decay decay(const Seen& seen, Nanos at) const noexcept;
  [[nodiscard]] static double rate_with(const Seen& seen, double cost, const Decay& past) noexcept;
  [[nodiscard]] std::uint64_t available(const Seen& seen, const Decay& past) const noexcept;
  [[nodiscard]] Nanos estimate(const Seen& seen, const Decay& now, double cost,
                               double most) const noexcept;
  [[nodiscard]] Decision admission(const Seen& seen, Nanos at, const Decay& now) const noexcept;
  [[nodiscard]] Decision denial(const Seen& seen, Nanos at, const Decay& now,
                                std::uint64_t cost) const noexcept;

  Answer answer_;
  double quota_ = 0;
  double most_ = 0;      // what a debit makes of the rate at most
  double window_ = 0;    // [ns]
  double rounding_ = 0;  // more than two decays can be out of order by [units a window]
  Reset reset_ = Reset::pace;
  Denied denied_ = Denied::free;
};

}  // namespace headgate::limit
