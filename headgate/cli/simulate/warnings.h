// Warnings about what makes the figures of `headgate simulate` less exact.
#pragma once

#include <cstdint>

#include "headgate/cli/simulate/options.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/traffic.h"

namespace headgate::cli {

// Warns if `decisions` > 0 were on keys that found no room in the table.
void warn_of_unkept(std::uint64_t decisions, const SimulateOptions& options);

// Warns if the policy file has Redis, which is not used.
void warn_of_redis(const policy::PolicySet& policies);

// Warns if policies use what the log does not have.
void warn_of_missing(const sim::Traffic& traffic, const policy::PolicySet& policies);

}  // namespace headgate::cli
