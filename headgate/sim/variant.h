// Variants of a policy file to compare: the file itself, or the file with one policy changed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"

namespace headgate::sim {

// The most variants that one replay compares. Each has a table of its own, so memory bounds them.
inline constexpr std::size_t variants_max = 64;

struct Variant {
  std::string name;  // for people: "quota 50, algorithm linear"
  std::shared_ptr<const policy::PolicySet> policies;
};

// Returns every combination of `changes` ("quota=50,100", "window=1m", "algorithm=linear") to the
// policy with this index, each of another kind. The error says which change cannot be made and why.
[[nodiscard]] Result<std::vector<Variant>, std::string> vary(
    const std::shared_ptr<const policy::PolicySet>& base, std::size_t policy,
    std::span<const std::string> changes);

}  // namespace headgate::sim
