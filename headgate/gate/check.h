// What a decision interface asks: one policy by name, with a ready-made partition key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headgate/limit/decision.h"
#include "headgate/policy/policy_set.h"

namespace headgate::gate {

struct Check {
  std::string_view policy;
  std::string_view key;    // as PolicySet::named() takes it
  std::uint64_t cost = 1;  // quota units; more than limit::Quota::cost_max is the same as that
};

struct CheckResult {
  const policy::Policy* policy = nullptr;
  const policy::Grant* grant = nullptr;  // of this policy
  std::string_view partition;            // readable; in the DecisionContext
  bool limited = false;      // false: the policy is off or the partition is unlimited, and then
  limit::Decision decision;  // this is an admission without figures
  bool taken = false;        // of a spend: its cost was taken; see DecisionContext::taken()

  // Whether the policy may deny. REQUIRES: a policy.
  [[nodiscard]] bool enforced() const noexcept {
    return policy->mode == policy::Mode::enforce && !grant->shadow;
  }
};

// Why nothing was decided.
struct CheckFault {
  enum class Reason : std::uint8_t {
    unknown_policy,
    asked_twice,  // the same policy for the same key as an earlier check
    too_many,     // more checks than policy::policies_max
    out_of_memory,
  };
  std::size_t check = 0;  // index of the first check at fault
  Reason reason{};
};

}  // namespace headgate::gate
