// `headgate simulate` on access logs.
#pragma once

#include "headgate/cli/simulate_options.h"
#include "headgate/sim/json_reader.h"
#include "headgate/sim/lines.h"

namespace headgate::cli {

// `first` is the first of options.logs, opened. Returns the exit status.
[[nodiscard]] int simulate_logs(const SimulateOptions& options, const sim::FieldNames& names,
                                sim::Lines first);

}  // namespace headgate::cli
