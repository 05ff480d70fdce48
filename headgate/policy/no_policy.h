// The error about a policy that a request names and that does not exist.
#pragma once

#include <string>
#include <string_view>

#include "headgate/policy/policy_set.h"

namespace headgate::policy {

// Returns "there is no policy 'brust'; did you mean 'burst'?"
[[nodiscard]] std::string no_policy(const PolicySet& policies, std::string_view name);

}  // namespace headgate::policy
