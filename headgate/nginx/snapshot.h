// The policies in force in a worker, with the overrides that are made while nginx runs, and their
// gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "headgate/gate/gate.h"
#include "headgate/policy/live/override.h"
#include "headgate/policy/policy_set.h"
#include "headgate/view/labels.h"

namespace headgate::nginx {

// Counts who uses it: the configuration while it is in force, and each request in flight that it
// has decided, because the verdict points into it. Not thread-safe: a worker has one thread.
class Snapshot {
 public:
  struct Release {
    void operator()(const Snapshot* held) const noexcept { held->release(); }
  };
  using Held = std::unique_ptr<const Snapshot, Release>;

  // `changes`: policy::KeptOverrides::changes() of the overrides. `before`: of the same policies,
  // with other overrides; nullptr: this is the first one. The rest is as for Gate. Throws
  // std::bad_alloc.
  [[nodiscard]] static Held make(std::shared_ptr<const policy::PolicySet> policies,
                                 policy::OverrideList overrides, std::uint64_t changes,
                                 const Snapshot* before, store::Store& store,
                                 const HashSecret& secret, std::span<gate::PolicyCounts> counts) {
    auto* const made =
        new Snapshot(std::move(policies), std::move(overrides), changes, store, secret, counts);
    if (before != nullptr) made->gate_.count_waiting_of(before->gate_);
    return Held(made);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  [[nodiscard]] const gate::Gate& gate() const noexcept { return gate_; }
  [[nodiscard]] const policy::PolicySet& policies() const noexcept { return gate_.policies(); }
  [[nodiscard]] const view::Labels& labels() const noexcept { return labels_; }
  [[nodiscard]] const policy::OverrideList& overrides() const noexcept { return overrides_; }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  // Each hold() needs one release(), with the last of which the snapshot ends.
  void hold() const noexcept { ++users_; }
  void release() const noexcept {
    if (--users_ == 0) delete this;
  }

 private:
  Snapshot(std::shared_ptr<const policy::PolicySet> policies, policy::OverrideList overrides,
           std::uint64_t changes, store::Store& store, const HashSecret& secret,
           std::span<gate::PolicyCounts> counts)
      : overrides_(std::move(overrides)),
        changes_(changes),
        gate_(std::move(policies), store, secret, counts),
        labels_(gate_) {}
  ~Snapshot() = default;

  policy::OverrideList overrides_;
  std::uint64_t changes_;
  gate::Gate gate_;
  view::Labels labels_;
  mutable std::size_t users_ = 1;
};

}  // namespace headgate::nginx
