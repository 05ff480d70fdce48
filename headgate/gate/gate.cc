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

bool is_slot(const policy::Policy& policy) noexcept {
  return policy.terms.algorithm == limit::Algorithm::concurrency;
}

}  // namespace

Gate::Gate(std::shared_ptr<const policy::PolicySet> policies, store::Store& store,
           const HashSecret& secret, std::span<PolicyCounts> counts)
    : policies_(std::move(policies)),
      store_(store),
      pk_secret_(pk_secret(secret)),
      counts_(counts),
      shards_(counts.empty() ? 0 : counts.size() / policies_->policies().size()),
      field_writer_(*policies_) {
  for (const policy::Policy& policy : policies_->policies()) {
    if (policy.refund_on.any() || policy.is_late() || is_slot(policy)) settled_.set(policy.index);
  }
}

void Gate::settle(std::span<const Due> dues, Instant taken, const policy::Response& response,
                  Instant now) const noexcept {
  for (const Due& due : dues) {
    const policy::Policy& policy = *due.policy;
    store::Charge charge{&due.grant->law, due.key, due.cost, limit::Op::refund};
    charge.since = taken;
    if (policy.is_late()) {
      const policy::Cost cost = policies_->late_cost(policy, response);
      if (cost.defaulted) add(&PolicyCounts::cost_defaulted, policy);
      if (cost.units == 0) continue;
      charge.op = limit::Op::debit;
      charge.cost = cost.units;
    } else if (!is_slot(policy)) {
      if (response.status >= policy.refund_on.size() || !policy.refund_on[response.status]) {
        continue;
      }
      add(&PolicyCounts::refunded, policy);
    }
    limit::Decision decision;
    store::Bundle bundle{{&charge, 1}, {&decision, 1}};
    store_.take({&bundle, 1}, now, {});
  }
}

std::span<PolicyCounts> Gate::shard() const noexcept {
  auto shard = static_cast<std::size_t>(std::max(sched_getcpu(), 0));  // -1: unknown
  if (shard >= shards_) shard %= shards_;
  return counts_.subspan(shard * policies_->policies().size());
}

void Gate::add(std::atomic<std::uint64_t> PolicyCounts::*counter,
               const policy::Policy& policy) const noexcept {
  if (counts_.empty()) return;
  (shard()[policy.index].*counter).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headgate::gate
