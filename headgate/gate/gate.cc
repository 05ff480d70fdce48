#include "headgate/gate/gate.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace headgate::gate {
namespace {

// Derives a key of its own, because the table uses `secret` itself.
HashSecret pk_secret(const HashSecret& secret) noexcept {
  const Hash128 derived = public_hash(secret, "headgate partition key");
  return {derived.lo, derived.hi};
}

}  // namespace

Gate::Gate(std::shared_ptr<const policy::PolicySet> policies, store::Store& store,
           const HashSecret& secret, std::span<PolicyCounts> counts)
    : policies_(std::move(policies)),
      store_(store),
      pk_secret_(pk_secret(secret)),
      counts_(counts),
      shard_size_(policies_->policies().size() + 1),
      shards_(counts.size() / shard_size_),
      field_writer_(*policies_) {
  const auto delays = [](const policy::Policy& policy) { return policy.terms.delay > 0; };
  if (std::ranges::any_of(policies_->policies(), [&](const policy::Policy& policy) {
        return delays(policy) && policy.mode == policy::Mode::enforce;
      })) {
    waiting_.resize(policies_->policies().size());
    for (const policy::Policy& policy : policies_->policies()) {
      if (delays(policy)) waiting_[policy.index] = std::make_shared<WaitingCount>(0);
    }
  }
  has_candidates_ = policies_->has_candidates();
  settles_ = std::ranges::any_of(policies_->policies(), &policy::Policy::is_settled);
  estimates_ = std::ranges::any_of(policies_->policies(), [](const policy::Policy& policy) {
    return policy.estimate_percent != 0;
  });
}

void Gate::count_waiting_of(const Gate& before) noexcept {
  if (before.waiting_.empty()) return;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i] == nullptr) continue;
    const policy::Policy* const same = before.policies_->find(policies_->policies()[i].name);
    if (same != nullptr && before.waiting_[same->index] != nullptr) {
      waiting_[i] = before.waiting_[same->index];
    }
  }
}

void Gate::begin(std::optional<Instant> now, DecisionContext& context) const noexcept {
  context.verdict = {};
  context.results = {};
  context.gate_ = this;
  context.moment_ = now;
  context.given_ = now;
  context.waits_for_ = nullptr;
  context.now = now.value_or(Instant{});
  context.reserves_ = false;
  context.outages_.reset();
  context.undecided_.reset();
}

std::span<PolicyCounts> Gate::shard() const noexcept {
  auto shard = static_cast<std::size_t>(std::max(sched_getcpu(), 0));  // -1: unknown
  if (shard >= shards_) shard %= shards_;
  return counts_.subspan(shard * shard_size_, shard_size_);
}

void Gate::add(Counter counter, const policy::Policy& policy) const noexcept {
  if (counts_.empty()) return;
  (shard()[policy.index].*counter).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headgate::gate
