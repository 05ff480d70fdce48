// The time by which the module decides, and how long it keeps a state.
#pragma once

#include <cstdint>

#include "headgate/base/instant.h"

namespace headgate::redis_module {

// clock.cc: the wall time in whole microseconds, as the command TIME returns it, so that states
// which scripts have written are never of a later time. Tests link testing/given_clock.cc instead.
[[nodiscard]] Instant decision_time() noexcept;

// When Redis is to remove a state that is not needed from `full_at` on [ms since 1970]. `now`: the
// time of the decision.
[[nodiscard]] std::int64_t expiry(Nanos full_at, Instant now) noexcept;

}  // namespace headgate::redis_module
