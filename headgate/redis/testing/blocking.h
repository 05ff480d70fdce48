// For tests: takes from a store, and waits.
#pragma once

#include <atomic>
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

// Takes the charges as one bundle. `now`: empty for the store's own time.
inline Taken take(store::Store& store, const std::vector<store::Charge>& charges,
                  std::optional<Instant> now = std::nullopt) {
  Taken taken;
  taken.now = now;
  taken.decisions.resize(charges.size());
  store::Bundle bundle{charges, taken.decisions};
  std::atomic<bool> done{false};
  store.take({&bundle, 1}, taken.now,
             {[](void* flag) noexcept {
                static_cast<std::atomic<bool>*>(flag)->store(true);
                static_cast<std::atomic<bool>*>(flag)->notify_all();
              },
              &done});
  done.wait(false);
  taken.admitted = bundle.admitted;
  taken.undecided = bundle.undecided;
  return taken;
}

}  // namespace headgate::redis
