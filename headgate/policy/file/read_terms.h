// Reads the terms of a policy (limit::Terms): its algorithm and the algorithm's parameters.
#pragma once

#include <string>

#include "headgate/limit/quota.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/cost.h"

namespace headgate::policy {

// Reads `algorithm`, `denied`, `reset`, `aligned`, `offset`, `log` and `lease`. A key that the
// algorithm does not use is a fault. `unnamed` is the algorithm if there is neither the key
// `algorithm` nor one that chooses it. Terms::calendar is not set: it depends on the quota
// (read_calendar.h).
[[nodiscard]] limit::Terms read_terms(const MapReader& policy, CostTime cost_time, Faults& faults,
                                      limit::Algorithm unnamed = limit::Algorithm::linear);

// Reads the `unit` of a policy.
[[nodiscard]] std::string read_unit(const MapReader& policy, limit::Algorithm algorithm,
                                    Faults& faults);

}  // namespace headgate::policy
