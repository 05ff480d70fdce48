// Policies as text.
#pragma once

#include <string>

#include "headgate/base/instant.h"
#include "headgate/policy/policy.h"

namespace headgate::cli {

// Returns 90 s [ns] as "90s" and 3600 s as "1h": in the largest unit that divides it.
[[nodiscard]] std::string duration_text(Nanos span);

// Returns one line with the name, quota and algorithm, and a line for each setting that is not the
// default.
[[nodiscard]] std::string describe(const policy::Policy& policy);

}  // namespace headgate::cli
