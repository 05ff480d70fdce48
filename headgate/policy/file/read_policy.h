// Reads the list of policies of a policy file.
#pragma once

#include <memory>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Reads and validates `policies`. The result is complete only if no fault was added.
[[nodiscard]] std::unique_ptr<PolicySet::Rules> read_policies(const yaml::Node& node,
                                                              const Settings& settings,
                                                              Faults& faults);

}  // namespace headgate::policy
