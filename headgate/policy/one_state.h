// Grants under which the same requests may be counted.
#pragma once

#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy.h"

namespace headgate::policy {

// Gives all linear laws of a policy the same kind of state if requests of one key may be counted
// under several of them: with states of two kinds, the key would have two quotas. REQUIRES: the
// laws are made; what is shared is made afterwards.
void agree_on_one_state(Policy& policy, const Rule& rule);

}  // namespace headgate::policy
