// A check of one policy by name, with a ready-made partition key, as decision interfaces make it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/limit/decision.h"
#include "headgate/policy/policy_set.h"

namespace headgate::gate {

struct Check {
  std::string_view policy;
  std::string_view key;  // as PolicySet::named() takes it
  // Quota units; above limit::Quota::cost_max the same as cost_max. std::nullopt: what the policy
  // reserves.
  std::optional<std::uint64_t> cost = 1;
};

struct CheckResult {
  const policy::Policy* policy = nullptr;  // of several numbers, those that decided
  const policy::Grant* grant = nullptr;    // of this policy
  std::string_view partition;              // readable; in the DecisionContext
  bool limited = false;      // false: the policy is off or the partition is unlimited, and then
  limit::Decision decision;  // this is an admission without figures
  bool taken = false;        // of a spend: its cost was taken; see DecisionContext::taken()
  bool outage = false;       // decided without the store that machines share; then r is 0
  bool shadow = false;       // as policy::Match::shadow
  std::string_view name{};   // of the policy that was asked, whose candidate may have decided

  // Whether the policy may deny. REQUIRES: a policy.
  [[nodiscard]] bool enforced() const noexcept {
    return policy->mode == policy::Mode::enforce && !grant->shadow && !shadow;
  }
};

// Why nothing was decided.
struct CheckFault {
  enum class Reason : std::uint8_t {
    unknown_policy,
    asked_twice,  // an earlier check has the same policy and key
    too_many,     // more checks than policy::policies_per_request_max
    out_of_memory,
    too_long,  // of Gate::reserve(): the keys take more than its DueRoom
  };
  std::size_t check = 0;  // index of the first check at fault; 0 if the keys are too long together
  Reason reason{};
};

}  // namespace headgate::gate
