#include "headgate/redis_module/clock.h"

#include <time.h>

#include "headgate/redis/time_to_live.h"

namespace headgate::redis_module {

Instant decision_time() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {now.tv_sec * nanos_per_second + now.tv_nsec / 1000 * 1000};
}

std::int64_t expiry(Nanos full_at, Instant now) noexcept {
  constexpr Nanos nanos_per_milli = 1'000'000;
  return static_cast<std::int64_t>(now.ns / nanos_per_milli) +
         static_cast<std::int64_t>(redis::time_to_live(full_at, now, redis::Clock::redis));
}

}  // namespace headgate::redis_module
