// A policy file named on the command line.
#pragma once

#include <memory>
#include <string>

#include "headgate/policy/policy_set.h"

namespace headgate::cli {

// The policies, or null: then every fault is on standard error.
[[nodiscard]] std::shared_ptr<const policy::PolicySet> load_or_complain(const std::string& path);

}  // namespace headgate::cli
