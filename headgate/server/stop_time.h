// How long a server waits for open requests when it stops.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "headgate/base/instant.h"
#include "headgate/policy/policy_set.h"
#include "headgate/server/door.h"

namespace headgate::server {

// Returns how long open requests have to end after a stop is requested, so that none is cut off
// that is still in time: a request arrives completely within DoorOptions::patience, and then may
// wait for as long as the longest `delay` of a policy.
[[nodiscard]] inline std::chrono::seconds stop_time(const DoorOptions& options,
                                                    const policy::PolicySet& policies) {
  Nanos delay = 0;
  for (const policy::Policy& policy : policies.policies()) {
    delay = std::max(delay, policy.terms.delay);
  }
  return options.patience + std::chrono::seconds(static_cast<std::int64_t>(ceil_seconds(delay)));
}

}  // namespace headgate::server
