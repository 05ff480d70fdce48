// Warnings about what makes the figures of `headgate simulate` less exact.
#pragma once

#include <cstdint>

#include "headgate/cli/simulate/options.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/traffic.h"

namespace headgate::cli {

// Warns if `keys` > 0 found no room in the table.
void warn_of_lost(std::uint64_t keys, const SimulateOptions& options);

// Warns if policies use what the log does not have.
void warn_of_missing(const sim::Traffic& traffic, const policy::PolicySet& policies);

}  // namespace headgate::cli
