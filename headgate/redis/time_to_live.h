// How long Redis keeps a state.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/redis/clock.h"

namespace headgate::redis {

// How long a state is kept beyond its need [ms]. With Redis' clock: the replicas' clocks may be
// ahead by that, and its cached time may be behind the one that decides. With the caller's: a day,
// because that clock may stand.
[[nodiscard]] constexpr std::uint64_t kept_beyond(Clock clock) noexcept {
  return clock == Clock::redis ? 1000 : 24 * 3600 * 1000;
}

// The time to live of a state [ms].
[[nodiscard]] constexpr std::uint64_t time_to_live(Nanos full_at, Instant now,
                                                   Clock clock) noexcept {
  constexpr Nanos nanos_per_milli = 1'000'000;
  // The longest time to live [ms], 142,000 years: Redis adds it to its time in 64 bits.
  constexpr Nanos most = Nanos{1} << 52;
  const Nanos span = ceil_div(full_at - now.ns, nanos_per_milli);
  return static_cast<std::uint64_t>(std::clamp<Nanos>(span, 0, most)) + kept_beyond(clock);
}

}  // namespace headgate::redis
