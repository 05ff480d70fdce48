// The walk of a decision interface: policies by name instead of a request to match.

#include <algorithm>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op, Instant now,
                                       DecisionContext& context) const noexcept {
  context.verdict = {};
  context.results = {};
  context.gate = this;
  context.moment = context.now = now;
  if (const auto fault = name(checks, context)) return fault;

  if (context.matched > 0) {
    charge(std::span<const policy::Match>(context.scratch.matches).first(context.matched),
           DryRun::no, op, context);
    admit(context);
  }
  context.verdict.dues = {};
  if (op == limit::Op::spend) debit_late(checks, context);
  for (std::size_t i = 0; i < context.matched; ++i) {
    context.answers[context.check_of[context.match_of[i]]].decision = context.decisions[i];
  }
  context.results = std::span(context.answers).first(checks.size());
  return std::nullopt;
}

// Finds the policies and keys that the checks name: context.answers for all of them, matches for
// those that are limited.
std::optional<CheckFault> Gate::name(std::span<const Check> checks,
                                     DecisionContext& context) const noexcept {
  using Reason = CheckFault::Reason;
  if (checks.size() > context.answers.size()) {
    return CheckFault{context.answers.size(), Reason::too_many};
  }
  context.matched = 0;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    std::optional<policy::Match> match;
    try {
      match = policies_->named(check.policy, check.key, check.cost, context.names[i]);
    } catch (const std::bad_alloc&) {
      return CheckFault{i, Reason::out_of_memory};
    }
    if (!match) return CheckFault{i, Reason::unknown_policy};
    const bool limited = match->policy->mode != policy::Mode::off && !match->grant->unlimited;
    context.answers[i] = {match->policy, match->grant, limited, {.admitted = true}};
    if (!limited) continue;
    const auto others = std::span(context.scratch.matches).first(context.matched);
    if (std::any_of(others.begin(), others.end(),
                    [&](const policy::Match& other) { return other.key == match->key; })) {
      return CheckFault{i, Reason::asked_twice};
    }
    context.check_of[context.matched] = static_cast<std::uint8_t>(i);
    context.scratch.matches[context.matched++] = *match;
  }
  return std::nullopt;
}

// What was admitted because anything is left now costs what it costs.
void Gate::debit_late(std::span<const Check> checks, DecisionContext& context) const noexcept {
  bool debited = false;
  for (std::size_t i = 0; i < context.matched; ++i) {
    const policy::Match& match = context.scratch.matches[context.match_of[i]];
    const bool admitted =
        i < context.enforced ? context.verdict.violated.none() : context.decisions[i].admitted;
    if (!match.policy->is_late() || !admitted) continue;
    store::Charge& charge = context.charges[i];
    charge.op = limit::Op::debit;
    charge.cost = checks[context.check_of[context.match_of[i]]].cost;
    store::Bundle bundle{{&charge, 1}, {&context.decisions[i], 1}};
    store_.take({&bundle, 1}, context.now, {});
    debited = true;
  }
  if (debited) itemise(context, 0);
}

}  // namespace headgate::gate
