// Every law that a policy can name, behind one type; and the charge that a store is asked to take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "headgate/limit/concurrency.h"
#include "headgate/limit/decision.h"
#include "headgate/limit/exponential.h"
#include "headgate/limit/fixed_window.h"
#include "headgate/limit/linear.h"
#include "headgate/limit/moving_window.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/sliding_window_counter.h"

namespace headgate::limit {

// A quota of 0: costs of 0 pass, nothing else ever does. No state.
struct Closed {
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  [[nodiscard]] constexpr Decision decide(std::uint64_t cost) const noexcept {
    return cost == 0 ? Decision{.admitted = true} : Decision{.wait = Decision::never};
  }
};

// LinearWhole to SlidingWindowCounter keep a small state (Step), the last two a log (log.h).
using Law = std::variant<Closed, LinearWhole, LinearExact, Exponential, FixedWindow,
                         SlidingWindowCounter, MovingWindow, Concurrency>;

// Whether an algorithm has a way to let denied requests cost something.
[[nodiscard]] constexpr bool offers(Algorithm algorithm, Denied denied) noexcept {
  if (denied == Denied::free || algorithm == Algorithm::linear) return true;
  return denied == Denied::spend &&
         (algorithm == Algorithm::exponential || algorithm == Algorithm::fixed_window);
}

// The law for this quota, in its narrowest exact form. std::nullopt where the quota, the window or
// a term is out of range, their product is beyond 128 bits, or the algorithm does not offer() what
// denials are to cost.
[[nodiscard]] std::optional<Law> make_law(const Quota& quota, const Terms& terms) noexcept;

// Whether a denial changes what the key has left.
[[nodiscard]] bool denial_costs(const Law& law) noexcept;

enum class Op : std::uint8_t {
  spend,   // take if it is there
  peek,    // answer as spend would, take nothing
  refund,  // give back; under concurrency: release
  debit,   // take whatever is there: a cost that became known late. Never denied
};

// One question to a store: may `cost` units of this key pass under this law? `law` and `key` are
// the caller's and outlive the call. `key` is the policy's name and the partition key, encoded so
// that different ones are different bytes.
struct Charge {
  const Law* law = nullptr;
  std::string_view key;
  std::uint64_t cost = 1;
  Op op = Op::spend;
  std::uint64_t hash = 0;  // of the key, where the store has noted it; 0: it has not
  Instant since{};         // of a refund: when the units were taken; {} if nobody knows
};

}  // namespace headgate::limit
