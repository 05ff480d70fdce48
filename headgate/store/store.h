// The Store contract: where the state of every limit lives.
#pragma once

#include <optional>
#include <span>

#include "headgate/base/instant.h"
#include "headgate/limit/law.h"

namespace headgate::store {

// The charges of one request, taken all or none: if one spend is denied, no other is taken (a
// denied charge still costs what its own law says a denial costs). Peeks never take, refunds
// always give. A key occurs at most once in a bundle.
struct Bundle {
  static constexpr std::size_t charges_max = 128;

  std::span<const limit::Charge> charges;
  std::span<limit::Decision> decisions;  // out; as many as charges, in their order
  bool admitted = false;                 // out: every charge is admitted
};

// Called once when every decision is written, perhaps before take() returns.
struct Completion {
  void (*call)(void* context) noexcept = [](void*) noexcept {};
  void* context = nullptr;
};

// Thread-safe. Every store passes the same suite, store/testing/conformance.h.
class Store {
 public:
  virtual ~Store() = default;

  // This store's clock. It never goes back by more than a clock of this kind can, and restarts do
  // not reset it.
  [[nodiscard]] virtual Instant now() const noexcept = 0;

  // These will be taken in a moment: a store may ask its memory for them now, and note in them
  // what it finds out. Nothing is decided, and nothing needs to follow.
  virtual void prefetch(std::span<limit::Charge>) noexcept {}

  // Decides every bundle as of `now`, each for itself, in order. An empty `now` becomes the
  // moment of the store's clock, read while memory is waited for. Bundles, charges, decisions and
  // an empty `now` are the caller's and stay until completion. An earlier `now` than a key has seen
  // never grants more.
  virtual void take(std::span<Bundle> bundles, std::optional<Instant>& now,
                    Completion done) noexcept = 0;

  // The same as of a moment that is known.
  void take(std::span<Bundle> bundles, Instant now, Completion done) noexcept {
    std::optional<Instant> at = now;
    take(bundles, at, done);
  }
};

}  // namespace headgate::store
