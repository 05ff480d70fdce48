// What a grant of a policy needs where machines share it.
#pragma once

#include <memory>

#include "headgate/policy/policy.h"

namespace headgate::policy {

// Returns nullptr if this machine counts alone, or does not limit. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<const limit::Shared> shared_of(const Policy& policy,
                                                             const Grant& grant);

}  // namespace headgate::policy
