#include "headgate/redis/denials.h"

#include <utility>

#include "headgate/redis/key_state.h"

namespace headgate::redis {
namespace {

using limit::Op;

// What an entry takes besides its key and its state: the node of the map, and two allocations.
constexpr std::size_t overhead = 192;

Nanos ns(BootClock::duration span) noexcept { return Nanos{span.count()}; }

}  // namespace

Denials::Shard& Denials::shard(std::string_view key) noexcept {
  // The high bits: the map uses the low ones.
  return shards_[TextHash{}(key) >> 32 & (shards - 1)];
}

void Denials::remember(const store::Charge& charge, Denial denial) {
  const std::size_t size = overhead + charge.key.size() + denial.state.size();
  if (size > room / shards / 2) return;
  Shard& shard = this->shard(charge.key);
  const std::lock_guard lock(shard.lock);
  if (shard.used + size > room / shards / 2 || denial.answered - shard.since > kept) {
    shard.old = std::exchange(shard.young, {});
    shard.used = 0;
    shard.since = denial.answered;
  }
  shard.young.insert_or_assign(std::string(charge.key),
                               Entry{charge.law->index(), std::move(denial)});
  shard.used += size;
}

void Denials::forget(std::string_view key) noexcept {
  Shard& shard = this->shard(key);
  const std::lock_guard lock(shard.lock);
  for (TextMap<Entry>* entries : {&shard.young, &shard.old}) {
    const auto found = entries->find(key);
    if (found != entries->end()) entries->erase(found);
  }
}

std::optional<limit::Decision> Denials::find(const store::Charge& charge, Time now) {
  if (charge.cost == 0) return std::nullopt;
  Shard& shard = this->shard(charge.key);
  const std::lock_guard lock(shard.lock);
  auto found = shard.young.find(charge.key);
  if (found == shard.young.end()) {
    found = shard.old.find(charge.key);
    if (found == shard.old.end()) return std::nullopt;
  }
  const auto& [kind, denial] = found->second;
  const BootClock::duration most = now - denial.asked;
  if (kind != charge.law->index() || most > kept) return std::nullopt;
  // Redis' clock is between these two. The later one says whether the denial still holds, the
  // earlier one how long to wait.
  const Instant latest{denial.decided.ns + ns(most + drift(most))};
  const BootClock::duration least = now - denial.answered;
  const Instant earliest{denial.decided.ns + ns(least - drift(least))};
  KeyState state(*charge.law, denial.state);
  if (state.apply(charge, Op::peek, 1, latest).admitted) return std::nullopt;
  return state.apply(charge, Op::peek, charge.cost, earliest);
}

}  // namespace headgate::redis
