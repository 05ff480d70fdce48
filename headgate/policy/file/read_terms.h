// The algorithm of a policy and its knobs, from the policy file.
#pragma once

#include <string>

#include "headgate/limit/quota.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/cost.h"

namespace headgate::policy {

// `algorithm`, `denied`, `reset`, `aligned`, `offset`, `log` and `lease` of a policy. What an
// algorithm has no use for is a fault where it is given. `unnamed` is the algorithm without a word.
[[nodiscard]] limit::Terms read_terms(const MapReader& policy, CostTime cost_time, Faults& faults,
                                      limit::Algorithm unnamed = limit::Algorithm::linear);

// `unit` of a policy.
[[nodiscard]] std::string read_unit(const MapReader& policy, limit::Algorithm algorithm,
                                    Faults& faults);

}  // namespace headgate::policy
