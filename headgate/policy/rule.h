// What a policy asks of a request: the part of it that only this room needs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headgate/policy/boulder_name.h"
#include "headgate/policy/component.h"
#include "headgate/policy/condition.h"
#include "headgate/policy/cost.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

// Lets a map of strings be asked with a view, without making a string of it.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

struct Rule {
  std::string key_head;               // the policy's name, length-prefixed
  std::vector<Condition> conditions;  // any of them; empty: every request
  std::vector<Component> key;
  CostRule cost;
  TextMap<std::uint32_t> overrides;  // length-prefixed parts -> index of a grant
  // One of Boulder's limits: no request matches it, its key is one part in the limit's own form,
  // and overrides go by that form.
  const BoulderName* boulder = nullptr;
};

struct PolicySet::Rules {
  std::vector<Policy> policies;
  std::vector<Rule> rules;  // of the policy with the same index
  TextMap<std::size_t> by_name;
};

}  // namespace headgate::policy
