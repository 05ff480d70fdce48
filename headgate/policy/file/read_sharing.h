// Which policies machines share, and what one machine does alone.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Reads `sharing` and `on-outage` of a policy.
void read_sharing(const MapReader& map, const Settings& settings, Policy& policy, Faults& faults);

// Adds faults if machines cannot take units of this policy ahead. To be called when all of the
// policy has been read.
void refuse_leases(const MapReader& map, const Policy& policy, Faults& faults);

// The sharing of a policy without the key `sharing`.
[[nodiscard]] limit::Sharing default_sharing(const Settings& settings) noexcept;

}  // namespace headgate::policy
