// The walk of a decision interface: policies by name instead of a request to match.

#include <algorithm>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op, Instant now,
                                       DecisionContext& context) const noexcept {
  context.verdict = {};
  context.results = {};
  context.gate_ = this;
  context.moment_ = context.now = now;
  if (const auto fault = name(checks, context)) return fault;

  if (context.matched_ > 0) {
    charge(std::span<const policy::Match>(context.scratch_.matches).first(context.matched_),
           DryRun::no, op, context);
    admit(context);
  }
  context.verdict.dues = {};
  if (op == limit::Op::spend) debit_late(checks, context);
  for (std::size_t i = 0; i < context.matched_; ++i) {
    CheckResult& result = context.results_[context.check_of_[context.match_of_[i]]];
    result.decision = context.decisions_[i];
    result.taken = context.taken(i);
  }
  context.results = std::span(context.results_).first(checks.size());
  return std::nullopt;
}

// Finds the policies and keys that the checks name: context.results_ for all of them, matches for
// those that are limited.
std::optional<CheckFault> Gate::name(std::span<const Check> checks,
                                     DecisionContext& context) const noexcept {
  using Reason = CheckFault::Reason;
  if (checks.size() > context.results_.size()) {
    return CheckFault{context.results_.size(), Reason::too_many};
  }
  context.matched_ = 0;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    std::optional<policy::Match> match;
    try {
      match = policies_->named(check.policy, check.key, check.cost, context.names_[i]);
    } catch (const std::bad_alloc&) {
      return CheckFault{i, Reason::out_of_memory};
    }
    if (!match) return CheckFault{i, Reason::unknown_policy};
    const bool limited = match->policy->mode != policy::Mode::off && !match->grant->unlimited;
    context.results_[i] = {
        match->policy, match->grant, match->partition, limited, {.admitted = true}};
    if (!limited) continue;
    const auto others = std::span(context.scratch_.matches).first(context.matched_);
    if (std::any_of(others.begin(), others.end(),
                    [&](const policy::Match& other) { return other.key == match->key; })) {
      return CheckFault{i, Reason::asked_twice};
    }
    context.check_of_[context.matched_] = static_cast<std::uint8_t>(i);
    context.scratch_.matches[context.matched_++] = *match;
  }
  return std::nullopt;
}

// What was admitted because anything is left now costs what it costs.
void Gate::debit_late(std::span<const Check> checks, DecisionContext& context) const noexcept {
  bool debited = false;
  for (std::size_t i = 0; i < context.matched_; ++i) {
    const policy::Match& match = context.match(i);
    if (!match.policy->is_late() || !context.taken(i)) continue;
    store::Charge& charge = context.charges_[i];
    charge.op = limit::Op::debit;
    charge.cost = checks[context.check_of_[context.match_of_[i]]].cost;
    store::Bundle bundle{{&charge, 1}, {&context.decisions_[i], 1}};
    store_.take({&bundle, 1}, context.now, {});
    debited = true;
  }
  if (debited) itemise(context, 0);
}

}  // namespace headgate::gate
