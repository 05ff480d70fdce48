// The part of a policy that only this room uses: conditions, key, cost and overrides.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/policy/boulder/name.h"
#include "headgate/policy/match/component.h"
#include "headgate/policy/match/condition.h"
#include "headgate/policy/match/cost.h"
#include "headgate/policy/match/rule_index.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

class EnvoyDomain;

struct Override {
  std::uint32_t grant = 0;  // index
  // Set if the key has a path and the grant gives more than the policy's own: it is for this path
  // alone, byte by byte. No other spelling of it can gain what the override gives.
  std::optional<std::string> exact_path;
};

struct Rule {
  std::string key_head;               // the policy's name, length-prefixed
  std::vector<Condition> conditions;  // one of them must hold; empty: every request matches
  // Indices of rules: no request matches that surely meets one of their conditions.
  std::vector<std::size_t> unless;
  std::vector<Component> key;
  std::size_t key_group = 0;  // index of the first rule with the same key
  CostRule cost;
  std::optional<CostRule> settled;  // of a policy that reserves: the cost at the response's end
  TextMap<Override> overrides;      // by length-prefixed parts
  // Of a key that is one address: the prefixes of the overrides that are for more than one
  // partition, longest first. Those overrides have the block as their part.
  std::vector<unsigned> v4_prefixes;
  std::vector<unsigned> v6_prefixes;
  // If set, the policy is one of Boulder's limits: no request matches it, its key is one part in
  // the normal form of the limit's ids, and overrides are found by that form.
  const BoulderName* boulder = nullptr;
  // If set, the policy is a domain of Envoy's configuration: no request matches it, the key is a
  // descriptor, and the grant is found by the descriptor.
  std::shared_ptr<const EnvoyDomain> envoy;

  // Whether only named() and descriptors reach the policy, and no request matches it.
  [[nodiscard]] bool by_name_alone() const noexcept {
    return boulder != nullptr || envoy != nullptr;
  }
};

struct PolicySet::Rules {
  std::vector<Policy> policies;
  std::vector<Rule> rules;       // of the policy with the same index
  std::vector<Condition> allow;  // no policy counts a request that surely meets one of them
  RuleIndex index;               // of the policies that requests match
  TextMap<std::size_t> by_name;
  std::vector<Fault> warnings;  // about parts of the files that have no effect
};

}  // namespace headgate::policy
