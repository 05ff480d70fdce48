// Policies to compare: a policy file, or one of its policies as it might be.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"

namespace headgate::sim {

// The most variants that one replay compares.
inline constexpr std::size_t variants_max = 64;

struct Variant {
  std::string name;  // for people: "quota 50, algorithm linear"
  std::shared_ptr<const policy::PolicySet> policies;
};

// Every combination of what `changes` say ("quota=50,100", "window=1m", "algorithm=linear") of the
// policy with this index. The error says which change can't be made and why.
[[nodiscard]] Result<std::vector<Variant>, std::string> vary(
    const std::shared_ptr<const policy::PolicySet>& base, std::size_t policy,
    std::span<const std::string> changes);

}  // namespace headgate::sim
