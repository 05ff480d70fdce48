// The charges that bring what was taken to what a request really cost.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/base/instant.h"
#include "headgate/gate/verdict.h"
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

}  // namespace headgate::gate
