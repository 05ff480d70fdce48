// Every law that a policy can name, behind one type, and the operations on its state.
#pragma once

#include <cstdint>
#include <optional>
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

// A quota of 0: admits costs of 0 and denies all others for good. Keeps no state.
struct Closed {
  [[nodiscard]] static constexpr Parameters parameters() noexcept {
    return {{.units = 0, .window = nanos_per_second}, {}};
  }
  [[nodiscard]] static constexpr bool denial_costs() noexcept { return false; }
  [[nodiscard]] constexpr Decision decide(std::uint64_t cost) const noexcept {
    return cost == 0 ? Decision{.admitted = true} : Decision{.wait = Decision::never};
  }
};

// From LinearWhole to SlidingWindowCounter a law keeps a small state (step.h); the last two keep a
// log (log.h). The table's files contain the positions of the alternatives (store/ledger.h,
// kind_of): append new ones.
using Law = std::variant<Closed, LinearWhole, LinearExact, Exponential, FixedWindow,
                         SlidingWindowCounter, MovingWindow, Concurrency>;

// Whether `algorithm` can charge denied requests in the way that `denied` says.
[[nodiscard]] constexpr bool offers(Algorithm algorithm, Denied denied) noexcept {
  if (denied == Denied::free || algorithm == Algorithm::linear) return true;
  return denied == Denied::spend &&
         (algorithm == Algorithm::exponential || algorithm == Algorithm::fixed_window);
}

// Whether requests can wait under `algorithm` (Terms::delay): only where it is exactly known when
// units come back, and where what is taken ahead stays in order.
[[nodiscard]] constexpr bool can_wait(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::linear || algorithm == Algorithm::fixed_window;
}

// The law for this quota, in its narrowest exact form. std::nullopt if the quota, the window or a
// term is out of range, if quota times window needs more than 128 bits, or if the algorithm does
// not offer() terms.denied, or has a delay but cannot wait.
[[nodiscard]] std::optional<Law> make_law(const Quota& quota, const Terms& terms) noexcept;

// Parameters from which make_law() makes a law that decides the same.
[[nodiscard]] Parameters parameters_of(const Law& law) noexcept;

// Whether a denial changes what the key has left.
[[nodiscard]] bool denial_costs(const Law& law) noexcept;

enum class Op : std::uint8_t {
  spend,   // takes `cost` units if they are available
  peek,    // decides as spend would, takes nothing
  refund,  // gives units back, Quota::cost_max of them: all. Under concurrency: releases slots
  debit,   // takes units that are already spent (a cost that became known late). Never denied
};

}  // namespace headgate::limit
