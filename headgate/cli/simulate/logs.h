// `headgate simulate` on access logs.
#pragma once

#include "headgate/cli/simulate/options.h"
#include "headgate/sim/log/json_reader.h"
#include "headgate/sim/log/lines.h"

namespace headgate::cli {

// `first` is the first of options.logs, already open. Returns the exit status.
[[nodiscard]] int simulate_logs(const SimulateOptions& options, const sim::FieldNames& names,
                                sim::Lines first);

}  // namespace headgate::cli
