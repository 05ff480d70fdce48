// Reads the `cost` of a policy.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/cost.h"

namespace headgate::policy {

// Returns the cost 1 if the key is absent.
[[nodiscard]] CostRule read_cost(const MapReader& policy, Faults& faults);

}  // namespace headgate::policy
