// Reads conditions on requests: `match`, `not` in it, and `allow`.
#pragma once

#include <string_view>
#include <vector>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/match/condition.h"

namespace headgate::policy {

// Reads the value of the key `name`: a condition, or a list of them. `effect`: what a request gets
// that meets one, for warnings.
[[nodiscard]] std::vector<Condition> read_conditions(const yaml::Node& node, std::string_view name,
                                                     Effect effect, Faults& faults);

}  // namespace headgate::policy
