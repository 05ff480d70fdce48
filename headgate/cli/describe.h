// Policies as text.
#pragma once

#include <string>

#include "headgate/policy/policy.h"
#include "headgate/policy/settings.h"

namespace headgate::cli {

// Returns one line with the name, quota and algorithm, and a line for each setting that is not the
// default.
[[nodiscard]] std::string describe(const policy::Policy& policy);

// Returns one line about the decision log.
[[nodiscard]] std::string describe(const policy::DecisionLogSettings& log);

}  // namespace headgate::cli
