// Policies in words.
#pragma once

#include <string>

#include "headgate/policy/policy.h"

namespace headgate::cli {

// A line with the policy's name and what it grants, and one for each further thing that it says.
[[nodiscard]] std::string describe(const policy::Policy& policy);

}  // namespace headgate::cli
