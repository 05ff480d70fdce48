// `headgate simulate` on traces.
#pragma once

#include "headgate/cli/simulate_options.h"
#include "headgate/sim/lines.h"

namespace headgate::cli {

// `first` is the first of options.logs, opened. Returns the exit status.
[[nodiscard]] int simulate_traces(const SimulateOptions& options, sim::Lines first);

}  // namespace headgate::cli
