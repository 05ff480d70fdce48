#include "headgate/gate/gate.h"

#include <utility>

namespace headgate::gate {
namespace {

// Apart from the table's own use of its secret.
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
      report_(*policies_) {}

void Gate::refund(const policy::Match& match, Instant now) const noexcept {
  const limit::Charge charge{&match.grant->law, match.key, match.cost, limit::Op::refund};
  limit::Decision decision;
  store::Bundle bundle{{&charge, 1}, {&decision, 1}};
  store_.take({&bundle, 1}, now, {});
  if (!counts_.empty()) {
    counts_[match.policy->index].refunded.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace headgate::gate
