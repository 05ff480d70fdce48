#include "headgate/gate/correction.h"

#include <algorithm>
#include <variant>

#include "headgate/policy/share_states.h"

namespace headgate::gate {
namespace {

// A linear quota's rate: so many units come back in so much time [ns].
struct Rate {
  explicit Rate(const limit::Quota& quota) noexcept
      : units(static_cast<Nanos>(quota.count != 0 ? quota.count : quota.units)),
        period(quota.count != 0 ? quota.period : quota.window) {}
  Nanos units;
  Nanos period;
};

// Returns how many of the `used` units of a quota cannot have come back by themselves within `span`
// [ns]. Under the linear law units come back all the time; under the others this is known only
// after a window.
std::uint64_t still_used(const limit::Law& law, std::uint64_t used, Nanos span) noexcept {
  const limit::Parameters parameters = limit::parameters_of(law);
  const limit::Quota& quota = parameters.quota;
  if (span >= quota.window) return 0;
  if (parameters.terms.algorithm != limit::Algorithm::linear || span <= 0) return used;
  const Rate rate(quota);
  const Nanos returned = span * rate.units / rate.period;
  return used - static_cast<std::uint64_t>(std::min(returned, static_cast<Nanos>(used)));
}

// Returns how many units of the quota were in use when a due had been taken, as far as is known.
std::uint64_t used_after(const limit::Law& law, const Due& due, bool is_leased) noexcept {
  const limit::Parameters parameters = limit::parameters_of(law);
  const std::uint64_t quota = parameters.quota.units;
  const std::uint64_t used = quota - std::min(due.remaining, quota);
  // What machines may take ahead of a linear law is not part of r, and need not be in use.
  const bool is_linear = parameters.terms.algorithm == limit::Algorithm::linear;
  return used - std::min(used, is_leased && is_linear ? due.grant->shared->leased : 0);
}

// How many units of `to` come back in the time in which `cost` units of `from` do. As many as
// `cost` if that needs more than 128 bits.
std::uint64_t converted(std::uint64_t cost, const limit::Quota& from, const limit::Quota& to,
                        bool upwards) noexcept {
  constexpr Nanos longest = Nanos{1} << 62;  // 146 years
  const Rate old(from);
  const Rate now(to);
  if (std::max({from.window, to.window, old.period, now.period}) > longest) return cost;
  const auto divided = [&](Nanos product, Nanos by) {
    return upwards ? ceil_div(product, by) : product / by;
  };
  // No law charges or gives back more than two quotas.
  const auto units = static_cast<Nanos>(std::min(cost, 2 * from.units));
  const Nanos time = divided(units * old.period, old.units);
  return static_cast<std::uint64_t>(
      std::min(divided(time * now.units, now.period), static_cast<Nanos>(limit::Quota::cost_max)));
}

// A law without a state.
bool is_closed(const policy::Grant& grant) noexcept {
  return std::holds_alternative<limit::Closed>(grant.law);
}

// Whether a state means the same under both grants, which are of one algorithm: none cuts what was
// spent under the other one. Nothing is cut by a law without a state.
bool count_alike(const policy::Grant& one, const policy::Grant& other) noexcept {
  if (is_closed(one) || is_closed(other)) return true;
  const limit::Terms terms = limit::parameters_of(one.law).terms;
  return terms == limit::parameters_of(other.law).terms && policy::share_states(terms, one, other);
}

// Whether leases or an exact state count what is shared: each has keys of its own in Redis.
bool is_leased(const policy::Grant& grant) noexcept {
  return grant.shared != nullptr && grant.shared->leased > 0;
}

}  // namespace

store::Charge refund_of(const Due& due, Instant taken) noexcept {
  store::Charge charge{&due.grant->law, due.key, due.cost, limit::Op::refund};
  charge.since = taken;
  charge.shared = due.grant->shared.get();
  charge.in_outage = due.in_outage;
  return charge;
}

std::optional<store::Charge> correction_of(const Due& due, Instant taken, std::uint64_t charged,
                                           std::uint64_t cost, Instant now) noexcept {
  store::Charge charge = refund_of(due, taken);
  const bool leased = is_leased(*due.grant);
  if (cost >= charged) {
    // Leases have no debts: there the difference is charged only if so much is left.
    charge.op = leased ? limit::Op::spend : limit::Op::debit;
    charge.cost = cost - charged;
  } else {
    const bool is_alone = due.in_outage && charge.shared != nullptr;
    const limit::Law& law = is_alone ? charge.shared->outage_law : *charge.law;
    const std::uint64_t used = used_after(law, due, leased && !is_alone);
    charge.cost = std::min(charged - cost, still_used(law, used, now.ns - taken.ns));
  }
  if (charge.cost == 0) return std::nullopt;
  return charge;
}

std::optional<store::Charge> charge_in_force(const store::Charge& charge, const Due& due,
                                             const policy::PolicySet& in_force,
                                             Instant now) noexcept {
  const policy::Grant& former = *due.grant;
  const policy::Grant* const grant = in_force.own_grant(*due.policy, due.key);
  if (grant == nullptr || grant == &former || is_leased(*grant) != is_leased(former)) return charge;
  if (count_alike(former, *grant)) return charge;
  store::Charge moved = charge;
  moved.law = &grant->law;
  moved.shared = grant->shared.get();
  if (due.policy->holds_slots()) return moved;
  const bool is_refund = charge.op == limit::Op::refund;
  if (due.policy->terms.algorithm == limit::Algorithm::linear) {
    moved.cost = converted(charge.cost, former.quota, grant->quota, !is_refund);
  }
  if (is_refund) {
    // What came back at once when the window became shorter is not given back again.
    if (grant->quota.window < former.quota.window) moved.cost = std::min(moved.cost, charge.cost);
    moved.cost =
        std::min(moved.cost, still_used(grant->law, grant->quota.units, now.ns - charge.since.ns));
  }
  return moved.cost == 0 ? std::nullopt : std::optional(moved);
}

}  // namespace headgate::gate
