// Reads how long requests wait in place of being denied.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// A minute: proxies and clients give up a request after about that time.
inline constexpr Nanos delay_max = 60 * nanos_per_second;
// Each waiting request takes a connection and some KiB.
inline constexpr std::uint64_t delay_waiting_max = 1'000'000;

// Reads `delay` and `delay-waiting` into the policy, whose terms and costs have been read. Adds a
// fault where nothing can wait.
void read_delay(const MapReader& map, Policy& policy, Faults& faults);

}  // namespace headgate::policy
