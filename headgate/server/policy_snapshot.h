// The policies of one reading of the policy file, with their gate and counters.
#pragma once

#include <cstdint>
#include <memory>

#include "headgate/gate/counters.h"
#include "headgate/gate/gate.h"
#include "headgate/policy/policy_set.h"
#include "headgate/store/store.h"

namespace headgate::server {

// Immutable except for its counters; thread-safe.
class PolicySnapshot {
 public:
  // `number` is 1 for the first snapshot of a server and grows by 1 with each reload. `counters`
  // has all names of `policies`. `store` and `secret` as Gate takes them.
  PolicySnapshot(std::shared_ptr<const policy::PolicySet> policies, store::Store& store,
                 const HashSecret& secret, std::uint64_t number,
                 std::shared_ptr<gate::Counters> counters)
      : number_(number),
        counters_(std::move(counters)),
        gate_(std::move(policies), store, secret, counters_->shards()) {}
  PolicySnapshot(const PolicySnapshot&) = delete;
  PolicySnapshot& operator=(const PolicySnapshot&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return gate_.policies(); }
  [[nodiscard]] const gate::Gate& gate() const noexcept { return gate_; }
  // The counts per policy's name, those of former snapshots included.
  [[nodiscard]] const std::shared_ptr<gate::Counters>& counters() const noexcept {
    return counters_;
  }

 private:
  std::uint64_t number_;
  std::shared_ptr<gate::Counters> counters_;
  gate::Gate gate_;
};

}  // namespace headgate::server
