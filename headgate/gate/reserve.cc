// Reservations: what is learnt of costs, and corrections that are made once.

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "headgate/base/hex.h"
#include "headgate/gate/correction.h"
#include "headgate/gate/estimate.h"
#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

// The law of a key that says whether a reservation was settled: one charge passes, and no other one
// before the reservation is too old.
const limit::Law& mark_law() noexcept {
  static const limit::Law law = *limit::make_law({1, reservation_lifetime}, {});
  return law;
}

// Of a reservation with units in Redis. While that is away, it cannot be known whether the
// reservation was settled elsewhere.
const limit::Shared& shared_mark() noexcept {
  static const limit::Shared shared{limit::OnOutage::deny, mark_law(), true, 0};
  return shared;
}

// Not of a slot, which is released all the same: otherwise honest clients would have none until
// their leases end. So a caller that settles twice then may release another request's slot.
bool gives_units_back(const store::Charge& charge) noexcept {
  return charge.op == limit::Op::refund && !std::holds_alternative<limit::Concurrency>(*charge.law);
}

// The key under which the store keeps that a reservation was settled. It begins as one of a policy
// whose name is a 0 and the id, which no policy has, and has the parts of the key beside it, if
// that has any: in a cluster both are in one slot then. The id is in hexadecimal digits, none of
// which begins a slot's tag.
void append_mark_key(const Reservation& reservation, std::string& out) {
  out += static_cast<char>(1 + 2 * reservation.id.size());
  out += '\0';
  append_hex(out, reservation.id);
  const std::string_view beside = reservation.beside;
  if (beside.empty()) return;
  const std::size_t head = 1 + static_cast<std::size_t>(static_cast<unsigned char>(beside[0]));
  out += beside.substr(std::min(head, beside.size()));
}

}  // namespace

std::uint64_t Gate::reserved(const policy::Policy& policy,
                             const policy::Grant& grant) const noexcept {
  if (policy.estimate_percent == 0) return policy.reserve;
  std::uint64_t units = policy.reserve;
  if (!counts_.empty()) {
    const Estimate estimate(counts_[policy.index].estimate.load(std::memory_order_relaxed));
    if (estimate.is_known()) units = estimate.units();
  }
  // More would never be admitted.
  return std::min(units, std::max<std::uint64_t>(grant.quota.units, 1));
}

void Gate::learn(const policy::Policy& policy, std::uint64_t cost) const noexcept {
  if (policy.estimate_percent == 0 || counts_.empty()) return;
  std::atomic<std::uint64_t>& state = counts_[policy.index].estimate;
  std::uint64_t seen = state.load(std::memory_order_relaxed);
  while (!state.compare_exchange_weak(seen,
                                      Estimate(seen).after(cost, policy.estimate_percent).state(),
                                      std::memory_order_relaxed)) {
  }
}

bool Gate::settle(const Reservation& reservation,
                  std::span<const std::optional<std::uint64_t>> costs, std::optional<Instant> now,
                  DecisionContext& context, store::Completion done, bool patient,
                  const Gate* in_force) const noexcept {
  const policy::PolicySet& laws = (in_force != nullptr ? *in_force : *this).policies();
  begin(now, context);
  context.patient_ = patient;
  context.done_ = done;
  context.settled = Settled::no;
  const Instant at = now ? *now : store_.now();
  if (at.ns - reservation.taken.ns >= reservation_lifetime) {
    done.call(done.context);
    return true;
  }
  if (reservation.elsewhere) {
    context.settled = Settled::elsewhere;
    done.call(done.context);
    return true;
  }
  std::string& keys = context.scratch_.text;
  std::size_t charges = 0;
  std::size_t learnt = 0;
  bool is_shared = false;
  try {
    std::size_t size = 2 + 2 * reservation.id.size() + reservation.beside.size();
    for (const Due& due : reservation.dues) size += due.key.size();
    context.make_room(reservation.dues.size());
    keys.clear();
    keys.reserve(size);  // it does not move
  } catch (const std::bad_alloc&) {
    return false;
  }
  const bool has_mark = !reservation.id.empty();
  if (has_mark) {
    append_mark_key(reservation, keys);
    context.mark_ = {&mark_law(), keys};
  }
  for (std::size_t i = 0; i < reservation.dues.size(); ++i) {
    const Due& due = reservation.dues[i];
    std::optional<store::Charge> charge;
    if (due.policy->holds_slots()) {
      charge = refund_of(due, reservation.taken);
    } else if (costs[i]) {
      charge = correction_of(due, reservation.taken, due.cost, *costs[i], at);
    }
    is_shared |= due.grant->shared != nullptr && !due.in_outage;
    if (costs[i]) {
      context.dues_[learnt] = due;
      context.dues_[learnt++].cost = *costs[i];
    }
    if (charge) charge = charge_in_force(*charge, due, laws, at);
    if (!charge) continue;
    const std::size_t from = keys.size();
    charge->key = std::string_view(keys.append(due.key)).substr(from);
    context.charges_[charges++] = *charge;
  }
  context.matched_ = charges;
  context.asked_ = learnt;
  if (!has_mark) {
    context.moment_ = at;
    settle_first(context);
    return true;
  }
  context.mark_.shared = is_shared ? &shared_mark() : nullptr;
  context.bundles_[0] = {{&context.mark_, 1}, {&context.marked_, 1}, context.patient_};
  store_.take(std::span(context.bundles_).first(1), context.moment_,
              {[](void* of) noexcept {
                 auto& decided = *static_cast<DecisionContext*>(of);
                 decided.gate_->settle_marked(decided);
               },
               &context, done.home});
  return true;
}

// Makes the corrections if this is the first call for the reservation. If the store had no place to
// note an earlier call, it makes only those that give no units back.
void Gate::settle_marked(DecisionContext& context) const noexcept {
  if (context.bundles_[0].outage) {
    context.settled = Settled::unknown;
    return end_settling(context);
  }
  if (context.marked_.admitted) return settle_first(context);
  if (context.marked_.unkept) {
    const auto all = std::span(context.charges_).first(context.matched_);
    const auto end = std::remove_if(all.begin(), all.end(), gives_units_back);
    if (end == all.end()) context.settled = Settled::yes;
    context.matched_ = static_cast<std::size_t>(end - all.begin());
  } else {
    context.matched_ = 0;
  }
  correct(context);
}

void Gate::settle_first(DecisionContext& context) const noexcept {
  context.settled = Settled::yes;
  for (const Due& due : std::span(context.dues_).first(context.asked_)) {
    learn(*due.policy, due.cost);
  }
  correct(context);
}

void Gate::correct(DecisionContext& context) const noexcept {
  if (context.matched_ == 0) return end_settling(context);
  context.bundle_count_ = context.matched_;
  for (std::size_t i = 0; i < context.matched_; ++i) {
    context.bundles_[i] = {
        {&context.charges_[i], 1}, {&context.decisions_[i], 1}, context.patient_};
  }
  take<&Gate::end_correcting>(context);
}

void Gate::end_correcting(DecisionContext& context) const noexcept {
  const auto corrections = std::span(context.bundles_).first(context.bundle_count_);
  if (std::ranges::any_of(corrections, &store::Bundle::outage)) {
    context.settled = Settled::unknown;
  }
  end_settling(context);
}

void Gate::end_settling(DecisionContext& context) const noexcept {
  context.now = *context.moment_;
  context.done_.call(context.done_.context);
}

}  // namespace headgate::gate
