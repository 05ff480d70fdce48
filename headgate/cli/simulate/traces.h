// `headgate simulate` on traces.
#pragma once

#include "headgate/cli/simulate/options.h"
#include "headgate/sim/log/lines.h"

namespace headgate::cli {

// `first` is the first of options.logs, already open. Returns the exit status.
[[nodiscard]] int simulate_traces(const SimulateOptions& options, sim::Lines first);

}  // namespace headgate::cli
