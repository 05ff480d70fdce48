#include "headgate/redis/denials.h"

#include <algorithm>
#include <utility>

#include "headgate/redis/key_state.h"

namespace headgate::redis {
namespace {

using limit::Op;

// What a key takes besides its text, laws and states: the node of the map, and three allocations.
constexpr std::size_t overhead = 256;

Nanos ns(BootClock::duration span) noexcept { return Nanos{span.count()}; }

}  // namespace

Denials::Shard& Denials::shard(std::string_view key) noexcept {
  // The high bits: the map uses the low ones.
  return shards_[TextHash{}(key) >> 32 & (shards - 1)];
}

void Denials::remember(const store::Charge& charge, Denial denial) {
  const std::size_t size =
      overhead + sizeof(limit::Parameters) + charge.key.size() + denial.state.size();
  if (size > room / shards / 2) return;
  Shard& shard = this->shard(charge.key);
  const std::lock_guard lock(shard.lock);
  if (shard.used + size > room / shards / 2 || denial.answered - shard.since > kept) {
    shard.old = std::exchange(shard.young, {});
    shard.used = 0;
    shard.since = denial.answered;
  }
  std::vector<Entry>& entries = shard.young[std::string(charge.key)];
  const limit::Parameters law = limit::parameters_of(*charge.law);
  const auto same = std::ranges::find(entries, law, &Entry::law);
  if (same == entries.end()) {
    entries.push_back({law, std::move(denial)});
  } else {
    same->denial = std::move(denial);
  }
  shard.used += size;
}

void Denials::forget(std::string_view key) noexcept {
  Shard& shard = this->shard(key);
  const std::lock_guard lock(shard.lock);
  for (auto* const entries : {&shard.young, &shard.old}) {
    const auto found = entries->find(key);
    if (found != entries->end()) entries->erase(found);
  }
}

std::optional<limit::Decision> Denials::find(const store::Charge& charge, Time now) {
  if (charge.cost == 0) return std::nullopt;
  Shard& shard = this->shard(charge.key);
  const std::lock_guard lock(shard.lock);
  for (const auto* const entries : {&shard.young, &shard.old}) {
    const auto found = entries->find(charge.key);
    if (found == entries->end()) continue;
    const limit::Parameters law = limit::parameters_of(*charge.law);
    const auto entry = std::ranges::find(found->second, law, &Entry::law);
    if (entry != found->second.end()) return denied(charge, entry->denial, now);
  }
  return std::nullopt;
}

std::optional<limit::Decision> Denials::denied(const store::Charge& charge, const Denial& denial,
                                               Time now) {
  const BootClock::duration most = now - denial.asked;
  if (most > kept) return std::nullopt;
  // Redis' clock is between these two. The later one says whether the denial still holds, the
  // earlier one how long to wait.
  const Nanos latest_after = ns(most + drift(most));
  const BootClock::duration least = now - denial.answered;
  const Nanos earliest_after = ns(least - drift(least));
  if (denial.state.empty()) {
    if (latest_after >= denial.wait || charge.cost != 1) return std::nullopt;
    const Nanos wait = denial.wait - earliest_after;
    return limit::Decision{.reset = ceil_seconds(wait), .wait = wait};
  }
  const Instant latest{denial.decided.ns + latest_after};
  const Instant earliest{denial.decided.ns + earliest_after};
  KeyState state(*charge.law, denial.state);
  if (state.apply(charge, Op::peek, 1, latest).admitted) return std::nullopt;
  return state.apply(charge, Op::peek, charge.cost, earliest);
}

}  // namespace headgate::redis
