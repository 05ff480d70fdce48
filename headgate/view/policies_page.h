// GET /v1/policies: the policies in force.
#pragma once

#include <cstdint>
#include <string_view>

#include "headgate/policy/policy_set.h"
#include "headgate/view/page.h"

namespace headgate::view {

// `file` is the policy file, `reading` how often it has been read. Throws std::bad_alloc.
[[nodiscard]] Page policies_page(std::string_view file, std::uint64_t reading,
                                 const policy::PolicySet& policies);

}  // namespace headgate::view
