// One policy file in force.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headgate/gate/gate.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/table.h"

namespace headgate::server {

// Immutable but for its counts; thread-safe.
class Generation {
 public:
  // `number` counts the files that were in force since the start, from 1.
  Generation(std::shared_ptr<const policy::PolicySet> policies, store::Table& table,
             std::uint64_t number)
      : number_(number),
        counts_(policies->policies().size()),
        gate_(std::move(policies), table, table.secret(), counts_) {}
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return gate_.policies(); }
  [[nodiscard]] const gate::Gate& gate() const noexcept { return gate_; }
  // One per policy, in file order.
  [[nodiscard]] std::span<const gate::PolicyCounts> counts() const noexcept { return counts_; }

 private:
  std::uint64_t number_;
  std::vector<gate::PolicyCounts> counts_;
  gate::Gate gate_;
};

}  // namespace headgate::server
