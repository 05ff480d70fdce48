// What a request costs, from the policy file.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/cost.h"

namespace headgate::policy {

// `cost` of a policy; 1 where the key is absent.
[[nodiscard]] CostRule read_cost(const MapReader& policy, Faults& faults);

}  // namespace headgate::policy
