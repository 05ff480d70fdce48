// What a user of `headgate simulate` must know to believe its figures.
#pragma once

#include <cstdint>

#include "headgate/cli/simulate/options.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/traffic.h"

namespace headgate::cli {

// Keys found no room in the table.
void warn_of_lost(std::uint64_t keys, const SimulateOptions& options);

// Policies look at what the log does not tell.
void warn_of_untold(const sim::Traffic& traffic, const policy::PolicySet& policies);

}  // namespace headgate::cli
