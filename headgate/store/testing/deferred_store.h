// A store that completes when the test says: in order, in another order, or never.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headgate/store/store.h"

namespace headgate::store {

// Each call is decided by `store` when it completes, so that whatever the caller does not keep
// until then is missed. Not thread-safe.
class DeferredStore final : public Store {
 public:
  // REQUIRES: store.completes_at_once()
  explicit DeferredStore(Store& store) noexcept : store_(store) {}

  [[nodiscard]] Instant now() const noexcept override { return store_.now(); }
  void prefetch(std::span<Charge> charges) noexcept override { store_.prefetch(charges); }

  using Store::take;
  void take(std::span<Bundle> bundles, std::optional<Instant>& now,
            Completion done) noexcept override {
    calls_.push_back({bundles, &now, done});
  }

  // How many calls have no answer yet.
  [[nodiscard]] std::size_t outstanding() const noexcept { return calls_.size(); }

  // Completes one of them; 0 is the oldest.
  void complete(std::size_t nth = 0) {
    const Call call = calls_.at(nth);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(nth));
    store_.take(call.bundles, *call.now, {});
    call.done.call(call.done.context);
  }

  // Completes all, and the calls that their completions make.
  void complete_all() {
    while (outstanding() > 0) complete();
  }

 private:
  struct Call {
    std::span<Bundle> bundles;
    std::optional<Instant>* now;
    Completion done;
  };

  Store& store_;
  std::vector<Call> calls_;
};

}  // namespace headgate::store
