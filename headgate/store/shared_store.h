// A store of two: limits that machines share are in a remote store, all others in a table.
//
// A bundle with charges of both is taken all or none. The table is asked first, without taking
// anything. If it would admit, the remote store takes its part, and then the table takes the rest.
// If another request of this machine came in between and the table denies after all, what the
// remote store took is given back. So only requests that meet within one round trip can be denied
// because of units that come back, and none is admitted that should not be.
//
// If the remote store leaves a bundle undecided, every charge that machines share is decided as its
// Shared::on_outage says. What this machine then counts alone is in the table, under keys of its
// own, so that it never mixes with what a policy without sharing has under the same name.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "headgate/store/store.h"

namespace headgate::store {

// Thread-safe.
class SharedStore final : public Store {
 public:
  // How long a request that is denied during an outage waits. A connection is tried again after at
  // most a second.
  static constexpr Nanos outage_wait = nanos_per_second;

  // Called when an outage begins (true) and when it is over (false), by a thread that takes, and
  // for one outage once. An outage is over when the remote store decides a bundle that can be
  // denied again, and has left nothing undecided for a second. Must not throw.
  using Observer = std::function<void(bool begins)>;

  // Both outlive this. REQUIRES: table.completes_at_once().
  SharedStore(Store& remote, Store& table, Observer observer)
      : remote_(remote), table_(table), observer_(std::move(observer)) {}

  // The table's: the moment of every decision is given in this time.
  [[nodiscard]] Instant now() const noexcept override { return table_.now(); }
  void prefetch(std::span<Charge> charges) noexcept override;

  // Whether the remote store left something undecided a moment ago.
  [[nodiscard]] bool is_outage() const noexcept {
    return is_outage_.load(std::memory_order_relaxed);
  }

  using Store::take;
  // Calls `done` before it returns if no charge is shared. If memory is short, nothing is limited
  // or taken.
  void take(std::span<Bundle> bundles, std::optional<Instant>& now,
            Completion done) noexcept override;

 private:
  class Taking;
  using Steady = std::chrono::steady_clock;

  void note(bool undecided) noexcept;

  Store& remote_;
  Store& table_;
  const Observer observer_;
  std::atomic<bool> is_outage_{false};
  std::atomic<Steady::rep> last_undecided_{0};
};

}  // namespace headgate::store
