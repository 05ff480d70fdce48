// What a policy asks of a request: the part of it that only this room needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/policy/boulder/name.h"
#include "headgate/policy/match/component.h"
#include "headgate/policy/match/condition.h"
#include "headgate/policy/match/cost.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

class EnvoyDomain;

struct Rule {
  std::string key_head;               // the policy's name, length-prefixed
  std::vector<Condition> conditions;  // any of them; empty: every request
  std::vector<Component> key;
  std::size_t key_group = 0;  // index of the first rule with the same key
  CostRule cost;
  TextMap<std::uint32_t> overrides;  // length-prefixed parts -> index of a grant
  // One of Boulder's limits: no request matches it, its key is one part in the limit's own form,
  // and overrides go by that form.
  const BoulderName* boulder = nullptr;
  // The limits of a domain of Envoy's: no request matches them, the key is a descriptor, and grants
  // go by it.
  std::shared_ptr<const EnvoyDomain> envoy;

  // Whether a request can match at all.
  [[nodiscard]] bool by_name_alone() const noexcept {
    return boulder != nullptr || envoy != nullptr;
  }
};

struct PolicySet::Rules {
  std::vector<Policy> policies;
  std::vector<Rule> rules;  // of the policy with the same index
  TextMap<std::size_t> by_name;
};

}  // namespace headgate::policy
