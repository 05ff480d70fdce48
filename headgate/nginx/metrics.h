// The module's metrics for Prometheus.
#pragma once

#include <string>

#include "headgate/nginx/conf.h"

namespace headgate::nginx {

// Returns the counters of the current policies, of the store and of the module, in Prometheus' text
// format 0.0.4. Throws std::bad_alloc.
[[nodiscard]] std::string metrics_text(const MainConf& conf);

}  // namespace headgate::nginx
