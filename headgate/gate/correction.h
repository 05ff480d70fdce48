// The charges that bring what was taken to what a request really cost.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/gate/verdict.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/charge.h"

namespace headgate::gate {

// Returns the charge that gives a due back; under concurrency, releases its slots. `taken` is when
// the request was decided.
[[nodiscard]] store::Charge refund_of(const Due& due, Instant taken) noexcept;

// Returns the charge after which a due that has taken `charged` units has taken `cost` units, as of
// `now`. What was taken too much is given back only as far as it cannot have come back by itself: a
// correction that comes late gives nothing twice. std::nullopt: there is nothing to correct.
[[nodiscard]] std::optional<store::Charge> correction_of(const Due& due, Instant taken,
                                                         std::uint64_t charged, std::uint64_t cost,
                                                         Instant now) noexcept;

// Returns the charge, which corrects a due, under the law of its key among the policies in force,
// where the due's own law would cut what was spent there, or give more back; otherwise as it is.
// Units of another linear quota are as many as come back in the same time, in the store's favour.
// std::nullopt: less than one unit.
[[nodiscard]] std::optional<store::Charge> charge_in_force(const store::Charge& charge,
                                                           const Due& due,
                                                           const policy::PolicySet& in_force,
                                                           Instant now) noexcept;

}  // namespace headgate::gate
