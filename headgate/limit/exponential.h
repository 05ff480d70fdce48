// The exponential law: a measured rate, smoothed over the window, must not exceed the quota.
//
// After Tony Finch's "exponentially weighted moving average": a request of cost c that comes x
// windows after the last one changes the rate to c * (1 - e^-x) / x + e^-x * rate, and at least to
// c. It is admitted if that is at most q per window. A client that was too fast waits longer than
// under the linear law; one that spreads its requests gets the whole quota. The law is not
// additive: one request of cost n is cheaper than n requests of cost 1, and repeated bursts get
// more than the advertised quota per window. r is the number of requests of cost 1, the worst case.
//
// Pure: no clock, no allocation, no failure after construction. The rate is a double, the only
// number of the laws that is rounded; r is reduced accordingly. All functions are thread-safe.
// Derivation, and what is not promised: docs/algorithms.md#exponential.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/limit/answer.h"
#include "headgate/limit/coarse.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/step.h"

namespace headgate::limit {

class Exponential {
 public:
  struct State {
    std::int64_t time_high;  // of the last change [ns], 128 bits in two words
    std::uint64_t time_low;
    double rate;  // units per window, at that time

    [[nodiscard]] constexpr Nanos time() const noexcept {
      return static_cast<Nanos>(static_cast<u128>(static_cast<u128>(time_high) << 64) | time_low);
    }
  };

  // std::nullopt if the quota is 0 or out of range, its product with the window needs more than 128
  // bits, or a denial has a penalty.
  [[nodiscard]] static std::optional<Exponential> make(const Quota& quota,
                                                       const Terms& terms) noexcept;

  [[nodiscard]] std::uint64_t quota() const noexcept { return answer_.quota(); }
  [[nodiscard]] Parameters parameters() const noexcept {
    return {{answer_.quota(), answer_.window()},
            {.denied = denied_,
             .reset = reset_,
             .algorithm = Algorithm::exponential,
             .late = most_ > quota_}};
  }
  [[nodiscard]] bool denial_costs() const noexcept { return denied_ != Denied::free; }
  // The linear law for keys that share a state.
  [[nodiscard]] Coarse coarse() const noexcept {
    return {answer_, denied_, most_ > quota_ ? answer_.window() : 0};
  }

  // Takes `cost` units at `now` if the rate allows it. A cost of 0 changes nothing, and is denied
  // only while denials have made the rate greater than the quota. A denial's wait is in whole
  // seconds: the least number that is enough, found by search.
  [[nodiscard]] Step<State> spend(const std::optional<State>& state, std::uint64_t cost,
                                  Instant now) const noexcept;

  // Whether spend() would admit.
  [[nodiscard]] bool admits(const std::optional<State>& state, std::uint64_t cost,
                            Instant now) const noexcept;

  // Decides as spend() would and takes nothing. A cost of 0 reads the state and is never denied.
  [[nodiscard]] Step<State> peek(const std::optional<State>& state, std::uint64_t cost,
                                 Instant now) const noexcept;

  // Gives back up to `cost` units as if they had been spent at once with the last request. The
  // state does not contain when they were spent; if that was earlier, this gives back a little too
  // much. Quota::cost_max of them: all.
  [[nodiscard]] Step<State> refund(const std::optional<State>& state, std::uint64_t cost,
                                   Instant now) const noexcept;

  // Takes `cost` units that are already spent. Never denied. The rate after it is at most twice the
  // quota; without Terms::late it is at most the quota.
  [[nodiscard]] Step<State> debit(const std::optional<State>& state, std::uint64_t cost,
                                  Instant now) const noexcept;

  // From when on the state is not needed [ns]: the law then decides as for a new key.
  [[nodiscard]] Nanos full_at(const State& state) const noexcept;

 private:
  // The state at the time of a request.
  struct Seen {
    Nanos time = 0;
    double rate = 0;     // at `time`
    bool known = false;  // false: a new key
    bool moved = false;  // differs from the stored state

    [[nodiscard]] State state() const noexcept {
      return {static_cast<std::int64_t>(time >> 64), static_cast<std::uint64_t>(time), rate};
    }
  };

  // How a rate fades over x windows.
  struct Decay {
    double windows = 0;  // x, since the state's time
    double mean = 1;     // (1 - e^-x) / x
    double left = 1;     // e^-x
  };

  [[nodiscard]] static Decay decay_over(double windows) noexcept;
  [[nodiscard]] Seen state_at(const std::optional<State>& state, Nanos at) const noexcept;
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
  double most_ = 0;    // the largest rate after a debit
  double window_ = 0;  // [ns]
  // More than the error by which a later decay can be computed as smaller than an earlier one
  // [units per window].
  double rounding_ = 0;
  Reset reset_ = Reset::pace;
  Denied denied_ = Denied::free;
};

}  // namespace headgate::limit
