// A policy file named on the command line.
#pragma once

#include <memory>
#include <string>

#include "headgate/policy/policy_set.h"

namespace headgate::cli {

// Returns the policies, and prints warnings on standard error. If the file has faults, prints all
// of them there and returns nullptr.
[[nodiscard]] std::shared_ptr<const policy::PolicySet> load_or_complain(const std::string& path);

}  // namespace headgate::cli
