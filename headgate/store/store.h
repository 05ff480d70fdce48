// The Store contract: where the state of every limit lives.
#pragma once

#include <optional>
#include <span>

#include "headgate/base/instant.h"
#include "headgate/limit/decision.h"
#include "headgate/store/charge.h"

namespace headgate::store {

// The charges of one request, taken all or none: if one spend is denied, no other is taken (a
// denied charge still costs what its own law says). Peeks never take anything; refunds and debits
// are always made. A key occurs at most once in a bundle.
struct Bundle {
  // As many as policies can match one request (policy::policies_per_request_max, checked by gate).
  static constexpr std::size_t charges_max = 128;

  std::span<const Charge> charges;
  std::span<limit::Decision> decisions;  // out; as many as charges, in their order
  // Whether a store over a network may take it later than a request can wait: it corrects, when the
  // request has ended, what that has taken.
  bool patient = false;
  bool admitted = false;  // out: every charge is admitted
  // out: the store could not be reached in time, so that decisions and `admitted` have no meaning.
  // What was spent may be charged, or not. Only stores over a network set it. SharedStore decides
  // such a bundle in another way; if memory is short, it admits it, takes nothing, and leaves this
  // set.
  bool undecided = false;
  // out: a charge that machines share was denied before, which still holds, so that the store was
  // not asked. Those that this one shares and that are not denied have not been decided: their
  // decisions have r 0. Only stores over a network set it.
  bool remembered = false;
  // out: the charges that machines share were decided without the store that they share, as
  // Shared::on_outage says. Only SharedStore sets it.
  bool outage = false;
};

class Mailbox;

// Called once, when every decision is written: before take() returns, or later by deliver() of the
// mailbox `home`, so on the thread that owns it, which called take(). Without a home, it may be
// called later by any thread, so that only such callers leave it out that have none to wait with.
struct Completion {
  void (*call)(void* context) noexcept = [](void*) noexcept {};
  void* context = nullptr;
  Mailbox* home = nullptr;  // outlives the call
};

// Thread-safe. Every store passes the same suite, store/testing/conformance.h.
//
// A call of take() cannot be cancelled: what was charged for a request that has gone has to be
// given back, so its caller waits for the completion, too. The owner of a store destroys it only
// when nothing is outstanding.
class Store {
 public:
  virtual ~Store() = default;

  // The time of this store's clock. It continues after a restart. It goes back only if the system
  // clock that it is based on does.
  [[nodiscard]] virtual Instant now() const noexcept = 0;

  // Whether every call of take() calls `done` before it returns. If not, callers own what they pass
  // for longer than the call.
  [[nodiscard]] virtual bool completes_at_once() const noexcept { return false; }

  // Prefetch hint: take() with these charges follows soon. May cache each key's hash in its Charge.
  // Decides nothing; the caller may still drop the charges.
  virtual void prefetch(std::span<Charge>) noexcept {}

  // Decides every bundle as of `now`, one after the other; a denied bundle does not affect the
  // following ones. If `now` is empty, sets it to the time of the store's clock, which is read
  // while prefetched memory arrives. The caller keeps bundles, charges with their laws and keys,
  // decisions and an empty `now` alive and unchanged until `done` is called; another `now` is only
  // read, and before take() returns. A `now` that is earlier than a former one of the same key
  // never grants more. A store whose clock alone decides, as that of several machines does, ignores
  // a `now` that is not empty.
  virtual void take(std::span<Bundle> bundles, std::optional<Instant>& now,
                    Completion done) noexcept = 0;

  // The same, as of a time that the caller knows. REQUIRES: completes_at_once().
  void take(std::span<Bundle> bundles, Instant now, Completion done) noexcept {
    std::optional<Instant> at = now;
    take(bundles, at, done);
  }
};

}  // namespace headgate::store
