// A store that can be away, as one over a network, for tests of what happens then.
#pragma once

#include <algorithm>
#include <cstddef>
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
    for (Bundle& bundle : bundles) {
      bundle.undecided = away;
      if (!away || loses_answers) take(bundle, now);
    }
    done.call(done.context);
  }

  bool away = false;
  bool loses_answers = false;  // what it leaves undecided is charged
  int calls = 0;
  std::function<void()> before_answer;  // called once

 private:
  void take(Bundle& bundle, std::optional<Instant>& now) noexcept {
    std::span<const Charge> charges = bundle.charges;
    const auto dependent = std::ranges::find_if(charges, &Charge::if_admitted);
    const auto before = static_cast<std::size_t>(dependent - charges.begin());
    Bundle first{charges.first(before), bundle.decisions.first(before)};
    store_.take({&first, 1}, now, {});
    bundle.admitted = first.admitted;
    if (!first.admitted || before == charges.size()) return;
    Bundle rest{charges.subspan(before), bundle.decisions.subspan(before)};
    store_.take({&rest, 1}, now, {});
  }

  Store& store_;
};

}  // namespace headgate::store
