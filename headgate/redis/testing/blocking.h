// For tests: takes from a store, and waits.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "headgate/store/store.h"

namespace headgate::redis {

struct Taken {
  bool admitted = false;
  bool undecided = false;
  std::vector<limit::Decision> decisions;
  std::optional<Instant> now;
};

// Takes the charges of each bundle in one call. `now`: empty for the store's own time. Calls
// `meanwhile` before it waits.
inline std::vector<Taken> take_together(
    store::Store& store, const std::vector<std::vector<store::Charge>>& bundles,
    std::optional<Instant> now = std::nullopt, bool patient = false,
    const std::function<void()>& meanwhile = [] {}) {
  std::vector<Taken> taken(bundles.size());
  std::vector<store::Bundle> asked;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    taken[i].decisions.resize(bundles[i].size());
    asked.push_back({bundles[i], taken[i].decisions, patient});
  }
  std::atomic<bool> done{false};
  store.take(asked, now,
             {[](void* flag) noexcept {
                static_cast<std::atomic<bool>*>(flag)->store(true);
                static_cast<std::atomic<bool>*>(flag)->notify_all();
              },
              &done});
  meanwhile();
  done.wait(false);
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    taken[i].admitted = asked[i].admitted;
    taken[i].undecided = asked[i].undecided;
    taken[i].now = now;
  }
  return taken;
}

// The same for one bundle.
inline Taken take(store::Store& store, const std::vector<store::Charge>& charges,
                  std::optional<Instant> now = std::nullopt) {
  return take_together(store, {charges}, now)[0];
}

}  // namespace headgate::redis
