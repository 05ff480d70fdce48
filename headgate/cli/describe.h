// Policies as text.
#pragma once

#include <string>

#include "headgate/policy/policy.h"

namespace headgate::cli {

// Returns one line with the name, quota and algorithm, and a line for each setting that is not the
// default.
[[nodiscard]] std::string describe(const policy::Policy& policy);

}  // namespace headgate::cli
