// The module's metrics for Prometheus.
#pragma once

#include <string>

#include "headgate/nginx/counters.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/table.h"

namespace headgate::nginx {

// Returns the counters of the current policies, of the table and of the module, in Prometheus' text
// format 0.0.4. Throws std::bad_alloc.
[[nodiscard]] std::string metrics_text(const policy::PolicySet& policies, const Counters& counters,
                                       const store::Table& table);

}  // namespace headgate::nginx
