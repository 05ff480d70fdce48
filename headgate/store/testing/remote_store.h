// A store that can be away, as one over a network, for tests of what happens then.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "headgate/store/store.h"

namespace headgate::store {

// Decides as `store` does, or while it is away leaves everything undecided. Not thread-safe.
class RemoteStore final : public Store {
 public:
  // REQUIRES: store.completes_at_once()
  explicit RemoteStore(Store& store) noexcept : store_(store) {}

  [[nodiscard]] Instant now() const noexcept override { return store_.now(); }

  using Store::take;
  void take(std::span<Bundle> bundles, std::optional<Instant>& now,
            Completion done) noexcept override {
    ++calls;
    if (before_answer) std::exchange(before_answer, {})();
    if (!away) return store_.take(bundles, now, done);
    for (Bundle& bundle : bundles) bundle.undecided = true;
    done.call(done.context);
  }

  bool away = false;
  int calls = 0;
  std::function<void()> before_answer;  // called once

 private:
  Store& store_;
};

}  // namespace headgate::store
