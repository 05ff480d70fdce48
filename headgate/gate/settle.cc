// What is done when the response has ended: late costs, refunds, and slots that are released.

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "headgate/gate/correction.h"
#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

// The charges of one response, for a store that answers later. It has copies of the keys, because
// the request's memory is gone by then.
struct Settlement {
  // Their laws.
  std::shared_ptr<const policy::PolicySet> policies;
  std::shared_ptr<const policy::PolicySet> in_force;
  std::string keys;
  std::vector<store::Charge> charges;
  std::vector<limit::Decision> decisions;
  std::vector<store::Bundle> bundles;
  std::optional<Instant> now;
};

// Throws std::bad_alloc.
std::unique_ptr<Settlement> settlement_of(std::vector<store::Charge> charges) {
  auto settlement = std::make_unique<Settlement>();
  std::size_t size = 0;
  for (const store::Charge& charge : charges) size += charge.key.size();
  settlement->keys.reserve(size);  // it never moves
  settlement->decisions.resize(charges.size());
  settlement->bundles.reserve(charges.size());
  settlement->charges = std::move(charges);
  for (std::size_t i = 0; i < settlement->charges.size(); ++i) {
    std::string_view& key = settlement->charges[i].key;
    const std::size_t at = settlement->keys.size();
    settlement->keys.append(key);
    key = std::string_view(settlement->keys).substr(at);
    settlement->bundles.push_back(
        {{&settlement->charges[i], 1}, {&settlement->decisions[i], 1}, true});
  }
  return settlement;
}

}  // namespace

void Gate::settle(std::span<const Due> dues, Instant taken, const policy::Response& response,
                  std::optional<Instant> now, const Gate* in_force) const noexcept {
  if (dues.empty()) return;
  const auto& laws = (in_force != nullptr ? *in_force : *this).policies_;
  const auto settling = [&](const Due& due, Instant ended) -> std::optional<store::Charge> {
    const auto charge = charge_of(due, taken, response, ended);
    return charge ? charge_in_force(*charge, due, *laws, ended) : std::nullopt;
  };
  const Instant ended = now ? *now : store_.now();
  if (store_.completes_at_once()) {
    for (const Due& due : dues) {
      std::optional<store::Charge> charge = settling(due, ended);
      if (!charge) continue;
      limit::Decision decision;
      store::Bundle bundle{{&*charge, 1}, {&decision, 1}};
      store_.take({&bundle, 1}, now, {});
    }
    return;
  }
  try {
    std::vector<store::Charge> charges;
    for (const Due& due : dues) {
      if (const auto charge = settling(due, ended)) charges.push_back(*charge);
    }
    if (charges.empty()) return;
    std::unique_ptr<Settlement> settlement = settlement_of(std::move(charges));
    settlement->policies = policies_;
    settlement->in_force = laws;
    settlement->now = now;
    Settlement& kept = *settlement.release();
    store_.take(kept.bundles, kept.now,
                {[](void* of) noexcept { delete static_cast<Settlement*>(of); }, &kept});
  } catch (const std::bad_alloc&) {  // see gate.h
  }
}

// Returns what is to be charged or given back for one due. std::nullopt: nothing.
std::optional<store::Charge> Gate::charge_of(const Due& due, Instant taken,
                                             const policy::Response& response,
                                             Instant now) const noexcept {
  const policy::Policy& policy = *due.policy;
  if (policy.holds_slots()) return refund_of(due, taken);
  const bool is_refunded =
      response.status < policy.refund_on.size() && policy.refund_on[response.status];
  if (policy.cost_time == policy::CostTime::request) {
    if (!is_refunded) return std::nullopt;
    add(&PolicyCounts::refunded, policy);
    return correction_of(due, taken, due.cost, 0, now);
  }
  policy::Cost cost = policies_->late_cost(policy, response);
  if (cost.defaulted) add(&PolicyCounts::cost_defaulted, policy);
  if (policy.is_late()) return correction_of(due, taken, 0, cost.units, now);
  if (cost.defaulted) return std::nullopt;
  if (is_refunded) {
    add(&PolicyCounts::refunded, policy);
  } else if (!response.is_whole && !policies_->response_member(policy).empty()) {
    cost.units = std::max(cost.units, due.cost);  // the cost of the rest is not known
  } else {
    learn(policy, cost.units);
  }
  return correction_of(due, taken, due.cost, cost.units, now);
}

}  // namespace headgate::gate
