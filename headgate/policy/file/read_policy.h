// Reads the list of policies of a policy file.
#pragma once

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Reads and validates `policies`, and adds them to `rules`, which have the conditions of `allow`.
// They are complete only if no fault was added.
void read_policies(const yaml::Node& node, const Settings& settings, PolicySet::Rules& rules,
                   Faults& faults);

}  // namespace headgate::policy
