#include "headgate/redis/redis_store.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "headgate/redis/key_state.h"
#include "headgate/redis/worker.h"

namespace headgate::redis {
namespace {

// Whether the charge is admitted where nothing is spent.
bool passes_alone(const store::Charge& charge, Instant now) {
  KeyState state(*charge.law, {});
  return state.apply(charge, limit::Op::peek, charge.cost, now).admitted;
}

bool has_correction(const store::Bundle& bundle) {
  return std::ranges::any_of(bundle.charges, corrects, &store::Charge::op);
}

// Whether one of the bundles before, which are decided later, corrects a key of this bundle.
bool follows_correction(std::span<const store::Bundle> before, const store::Bundle& bundle) {
  const auto is_mine = [&](const store::Charge& charge) {
    return std::ranges::find(bundle.charges, charge.key, &store::Charge::key) !=
           bundle.charges.end();
  };
  return std::ranges::any_of(before, [&](const store::Bundle& earlier) {
    return has_correction(earlier) && std::ranges::any_of(earlier.charges, is_mine);
  });
}

}  // namespace

Result<std::unique_ptr<RedisStore>, std::string> RedisStore::open(Options options) {
  if (options.nodes.empty()) return Failure<std::string>("no Redis server is named");
  if (options.cluster && !options.sentinel.empty()) {
    return Failure<std::string>("a cluster has no sentinels; expected one of the two");
  }
  if (!options.cluster && options.sentinel.empty() && options.nodes.size() > 1) {
    return Failure<std::string>(
        "several Redis servers are named; expected one, or a cluster, or sentinels");
  }
  if (options.timeout.count() < 1) {
    return Failure<std::string>("the timeout for Redis is not positive");
  }
  return std::unique_ptr<RedisStore>(new RedisStore(std::move(options)));
}

RedisStore::RedisStore(Options options) : options_(std::move(options)) {}

RedisStore::~RedisStore() = default;

Worker& RedisStore::worker() {
  std::call_once(started_, [this] {
    worker_ = std::make_unique<Worker>(options_, clock_, denials_, leases_);
  });
  return *worker_;
}

void RedisStore::take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
                      store::Completion done) noexcept {
  try {
    bool open = false;
    bool corrected = false;
    for (std::size_t i = 0; i < bundles.size(); ++i) {
      store::Bundle& bundle = bundles[i];
      forget_denials(bundle);
      bundle.undecided = (corrected && follows_correction(bundles.first(i), bundle)) ||
                         (!take_at_once(bundle) && !deny_from_memory(bundle));
      open |= bundle.undecided;
      corrected |= has_correction(bundle);
    }
    if (open) return worker().take(bundles, now, done);
    if (!now) now = clock_.now();
    return done.call(done.context);
  } catch (const std::exception&) {  // no memory, or no thread
  }
  for (store::Bundle& bundle : bundles) bundle.undecided = true;
  if (!now) now = clock_.now();
  done.call(done.context);
}

bool RedisStore::take_at_once(store::Bundle& bundle) noexcept {
  if (options_.clock != Clock::redis || bundle.charges.empty()) return false;
  for (const store::Charge& charge : bundle.charges) {
    if (charge.shared == nullptr || charge.shared->leased == 0) return false;
  }
  bundle.admitted = true;
  for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
    const store::Charge& charge = bundle.charges[i];
    const auto [found, becomes_low] = leases_.decide(charge, bundle.decisions[i]);
    if (becomes_low) ask_ahead(charge.key);
    const bool denies_alone = found == Lease::Found::denied && bundle.charges.size() == 1;
    if (found == Lease::Found::admitted || denies_alone) {
      bundle.admitted = bundle.admitted && found == Lease::Found::admitted;
      continue;
    }
    for (const store::Charge& taken : bundle.charges.first(i)) leases_.give_back(taken);
    return false;
  }
  count(bundle.admitted ? &RedisCounts::leased : &RedisCounts::remembered);
  return true;
}

// A bundle with a charge of which Redis has said that it is denied. What a denial costs has to be
// charged, and refunds and debits are made also if the rest is denied. A charge that always denies
// has an answer of its own.
bool RedisStore::deny_from_memory(store::Bundle& bundle) {
  if (options_.clock != Clock::redis) return false;
  for (const store::Charge& charge : bundle.charges) {
    if (corrects(charge.op)) return false;
    if (limit::denial_costs(*charge.law)) return false;
  }
  const BootClock::time_point now = BootClock::now();
  bool denied = false;
  for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
    const store::Charge& charge = bundle.charges[i];
    bundle.decisions[i] = {.admitted = true};
    if (charge.shared == nullptr) continue;
    const auto known = charge.shared->leased > 0     ? leases_.denial(charge)
                       : charge.shared->denials_last ? denials_.find(charge, now)
                                                     : std::nullopt;
    if (!known) continue;
    bundle.decisions[i] = *known;
    denied = true;
  }
  if (!denied) return false;
  for (std::size_t i = 0; i < bundle.charges.size(); ++i) {
    if (bundle.decisions[i].admitted && !passes_alone(bundle.charges[i], clock_.now())) {
      return false;
    }
  }
  bundle.admitted = false;
  bundle.remembered = true;
  count(&RedisCounts::remembered);
  return true;
}

// What a bundle corrects is not denied from memory from now on.
void RedisStore::forget_denials(const store::Bundle& bundle) noexcept {
  for (const store::Charge& charge : bundle.charges) {
    if (!corrects(charge.op)) continue;
    denials_.forget(charge.key);
    leases_.end_denials(charge.key);
  }
}

void RedisStore::ask_ahead(std::string_view key) noexcept {
  try {
    worker().ask_ahead(key);
  } catch (const std::exception&) {
    // The next request that needs a unit asks for it.
  }
}

void RedisStore::count(std::atomic<std::uint64_t> RedisCounts::*counter) const noexcept {
  if (options_.counts != nullptr) {
    (options_.counts->*counter).fetch_add(1, std::memory_order_relaxed);
  }
}

RedisStatus RedisStore::status() {
  try {
    return worker().status();
  } catch (const std::system_error& error) {
    return {false, no_thread(error.code().message())};
  }
}

}  // namespace headgate::redis
