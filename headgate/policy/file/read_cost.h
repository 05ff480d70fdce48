// Reads the `cost` of a policy.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// Sets what says the cost: members of the rule, and of the policy its cost_time and
// estimate_percent. Without the key, the cost is 1.
void read_cost(const MapReader& map, Policy& policy, Rule& rule, Faults& faults);

// Sets Policy::reserve and, before anything is learnt, what an estimate takes: both depend on the
// quota.
void set_reserve(Policy& policy, Rule& rule) noexcept;

}  // namespace headgate::policy
