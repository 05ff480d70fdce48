// The policies of one reading of the policy file with the overrides in force, their gate and
// counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headgate/gate/counters.h"
#include "headgate/gate/gate.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/store.h"
#include "headgate/view/labels.h"

namespace headgate::server {

// Immutable except for its counters; thread-safe.
class PolicySnapshot {
 public:
  // Both are 1 for the first snapshot of a server.
  struct Numbers {
    std::uint64_t snapshot = 1;  // grows by 1 with each snapshot
    std::uint64_t reading = 1;   // grows by 1 with each reading of the policy file
  };

  // `policies` has the overrides. `counters` has all names of `policies`. `store` and `secret` as
  // Gate takes them. `before` is the snapshot whose place this takes, or nullptr.
  PolicySnapshot(std::shared_ptr<const policy::PolicySet> policies, policy::OverrideList overrides,
                 store::Store& store, const HashSecret& secret, Numbers numbers,
                 std::shared_ptr<gate::Counters> counters, const PolicySnapshot* before = nullptr)
      : numbers_(numbers),
        overrides_(std::move(overrides)),
        counters_(std::move(counters)),
        gate_(std::move(policies), store, secret, counters_->shards()),
        labels_(gate_) {
    if (before != nullptr) gate_.count_waiting_of(before->gate_);
  }
  PolicySnapshot(const PolicySnapshot&) = delete;
  PolicySnapshot& operator=(const PolicySnapshot&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return numbers_.snapshot; }
  [[nodiscard]] std::uint64_t reading() const noexcept { return numbers_.reading; }
  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return gate_.policies(); }
  [[nodiscard]] const gate::Gate& gate() const noexcept { return gate_; }
  [[nodiscard]] const view::Labels& labels() const noexcept { return labels_; }
  [[nodiscard]] const policy::OverrideList& overrides() const noexcept { return overrides_; }
  // The counts per policy's name, those of former snapshots included.
  [[nodiscard]] const std::shared_ptr<gate::Counters>& counters() const noexcept {
    return counters_;
  }

 private:
  Numbers numbers_;
  policy::OverrideList overrides_;
  std::shared_ptr<gate::Counters> counters_;
  gate::Gate gate_;
  view::Labels labels_;
};

}  // namespace headgate::server
