// Reservations: what is learnt of costs, and corrections that are made once.

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "headgate/gate/correction.h"
#include "headgate/gate/estimate.h"
#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

// The law of a key that says whether a due was settled: one charge passes, and no other one
// before the reservation is too old.
const limit::Law& mark_law() noexcept {
  static const limit::Law law = *limit::make_law({1, reservation_lifetime}, {});
  return law;
}

// Of a due with units in Redis. While that is away, it cannot be known whether it was settled
// elsewhere.
const limit::Shared& shared_mark() noexcept {
  static const limit::Shared shared{limit::OnOutage::deny, mark_law(), true, 0};
  return shared;
}

// Not of a slot, which is released all the same: otherwise honest clients would have none until
// their leases end. So a caller that settles twice then may release another request's slot.
bool gives_units_back(const store::Charge& charge) noexcept {
  return charge.op == limit::Op::refund && !std::holds_alternative<limit::Concurrency>(*charge.law);
}

// Returns what a due has to be charged or given back. Its cost is 0 if there is nothing to correct.
store::Charge correction_to(const Due& due, Instant taken, std::optional<std::uint64_t> cost,
                            Instant now) noexcept {
  store::Charge charge = refund_of(due, taken);
  if (due.policy->holds_slots()) return charge;
  charge.cost = 0;
  return cost ? correction_of(due, taken, due.cost, *cost, now).value_or(charge) : charge;
}

// Not the length of a policy's name, with which all other keys begin.
constexpr char mark_head = '\0';

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

// Each due has a mark of its own, a charge that passes once. A store that can lose its answer makes
// the correction together with it: then a later call finds both or none.
bool Gate::settle(const Reservation& reservation,
                  std::span<const std::optional<std::uint64_t>> costs, std::optional<Instant> now,
                  DecisionContext& context, store::Completion done) const noexcept {
  begin(now, context);
  context.done_ = done;
  context.settled = Settled::no;
  const Instant at = now ? *now : store_.now();
  if (at.ns - reservation.taken.ns >= reservation_lifetime) {
    done.call(done.context);
    return true;
  }
  const std::size_t dues = reservation.dues.size();
  const std::size_t marks = std::max<std::size_t>(dues, 1);  // without dues, one of the reservation
  const bool is_marked = !reservation.id.empty();
  std::string& keys = context.scratch_.text;
  try {
    std::size_t size = marks * (1 + reservation.id.size());
    for (const Due& due : reservation.dues) size += due.key.size();
    context.make_room(2 * marks);
    keys.clear();
    keys.reserve(size);  // it does not move
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::size_t i = 0; i < marks; ++i) {
    store::Charge& mark = context.charges_[2 * i];
    store::Charge& correction = context.charges_[2 * i + 1];
    const std::size_t from = keys.size();
    keys.append({&mark_head, 1}).append(reservation.id);
    if (i < dues) keys.append(reservation.dues[i].key);
    mark = {&mark_law(), std::string_view(keys).substr(from)};
    correction = {};
    correction.cost = 0;
    context.dues_[i] = {};
    if (i < dues) {
      const Due& due = reservation.dues[i];
      const limit::Shared* const shared = due.grant->shared.get();
      if (shared != nullptr) mark.shared = &shared_mark();
      correction = correction_to(due, reservation.taken, costs[i], at);
      correction.key = mark.key.substr(mark.key.size() - due.key.size());
      correction.if_admitted =
          is_marked && shared != nullptr && shared->leased == 0 && !due.in_outage;
      if (costs[i]) {
        context.dues_[i] = due;
        context.dues_[i].cost = *costs[i];
      }
    }
    const std::size_t charges = correction.if_admitted ? 2 : 1;
    context.decisions_[2 * i] = {.admitted = true};
    context.bundles_[i] = {std::span(context.charges_).subspan(2 * i, charges),
                           std::span(context.decisions_).subspan(2 * i, charges)};
  }
  context.asked_ = marks;
  if (!is_marked) {
    context.moment_ = at;
    settle_marked(context);
    return true;
  }
  store_.take(std::span(context.bundles_).first(marks), context.moment_,
              {[](void* of) noexcept {
                 auto& decided = *static_cast<DecisionContext*>(of);
                 decided.gate_->settle_marked(decided);
               },
               &context, done.home});
  return true;
}

// Makes the corrections that are left, of dues whose mark says that this is the first call. If the
// store had no place to note an earlier one, it makes only those that give no units back.
void Gate::settle_marked(DecisionContext& context) const noexcept {
  bool is_first = false;
  bool is_unknown = false;
  bool is_withheld = false;
  std::size_t left = 0;
  for (std::size_t i = 0; i < context.asked_; ++i) {
    const limit::Decision mark = context.decisions_[2 * i];
    const store::Charge correction = context.charges_[2 * i + 1];
    if (context.bundles_[i].outage) {
      is_unknown = true;
      continue;
    }
    if (!mark.admitted && !mark.unkept) continue;
    is_first = true;
    const Due& due = context.dues_[i];
    if (mark.admitted && due.policy != nullptr) learn(*due.policy, due.cost);
    if (correction.if_admitted || correction.cost == 0) continue;
    if (mark.admitted || !gives_units_back(correction)) {
      context.charges_[left++] = correction;
    } else {
      is_withheld = true;
    }
  }
  context.settled = is_unknown                 ? Settled::unknown
                    : is_first && !is_withheld ? Settled::yes
                                               : Settled::no;
  correct(context, left);
}

void Gate::correct(DecisionContext& context, std::size_t charges) const noexcept {
  context.matched_ = charges;
  context.bundle_count_ = charges;
  if (charges == 0) return end_settling(context);
  for (std::size_t i = 0; i < charges; ++i) {
    context.bundles_[i] = {{&context.charges_[i], 1}, {&context.decisions_[i], 1}};
  }
  take<&Gate::end_settling>(context);
}

void Gate::end_settling(DecisionContext& context) const noexcept {
  const auto corrections = std::span(context.bundles_).first(context.bundle_count_);
  if (std::ranges::any_of(corrections, &store::Bundle::outage)) {
    context.settled = Settled::unknown;
  }
  context.now = *context.moment_;
  context.done_.call(context.done_.context);
}

}  // namespace headgate::gate
