// The steps of a decision interface: checks of named policies instead of a request to match.

#include <algorithm>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op,
                                       std::optional<Instant> now, DecisionContext& context,
                                       store::Completion done) const noexcept {
  begin(now, context);
  return decide(checks, op, context, done);
}

std::optional<CheckFault> Gate::reserve(std::span<const Check> checks, std::optional<Instant> now,
                                        DecisionContext& context,
                                        store::Completion done) const noexcept {
  begin(now, context);
  if (!now) context.now = store_.now();  // in case no check is limited
  context.reserves_ = true;
  return decide(checks, limit::Op::spend, context, done);
}

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op,
                                       DecisionContext& context,
                                       store::Completion done) const noexcept {
  context.done_ = done;
  if (const auto fault = match_checks(checks, context)) return fault;

  context.asked_ = checks.size();
  if (context.matched_ == 0) {
    answer_checks(context);
    return std::nullopt;
  }
  charge(context.scratch_.matches, DryRun::no, op, context);
  take<&Gate::merge_checks>(context);
  return std::nullopt;
}

// Finds the policies and keys of the checks. Fills context.results_ for all checks, and the matches
// for those that are limited.
std::optional<CheckFault> Gate::match_checks(std::span<const Check> checks,
                                             DecisionContext& context) const noexcept {
  using Reason = CheckFault::Reason;
  if (checks.size() > policy::policies_per_request_max) {
    return CheckFault{policy::policies_per_request_max, Reason::too_many};
  }
  std::vector<policy::Match>& matches = context.scratch_.matches;
  matches.clear();
  try {
    matches.reserve(checks.size());
    context.make_room(checks.size());
  } catch (const std::bad_alloc&) {
    return CheckFault{0, Reason::out_of_memory};
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Check& check = checks[i];
    std::optional<policy::Match> match;
    try {
      match = policies_->named(check.policy, check.key, check.cost.value_or(0), context.names_[i]);
    } catch (const std::bad_alloc&) {
      return CheckFault{i, Reason::out_of_memory};
    }
    if (!match) return CheckFault{i, Reason::unknown_policy};
    if (!check.cost) match->cost = reserved(*match->policy, *match->grant);
    const bool limited = has_limit(*match);
    context.results_[i] = {
        match->policy, match->grant, match->partition, limited, {.admitted = true}};
    if (!limited) continue;
    if (std::any_of(matches.begin(), matches.end(),
                    [&](const policy::Match& other) { return other.key == match->key; })) {
      return CheckFault{i, Reason::asked_twice};
    }
    context.check_of_[matches.size()] = static_cast<std::uint8_t>(i);
    matches.push_back(*match);
  }
  context.matched_ = matches.size();
  return std::nullopt;
}

void Gate::merge_checks(DecisionContext& context) const noexcept {
  if (begin_wait(context)) return take<&Gate::merge_checks>(context);
  context.now = *context.moment_;
  conclude(context);
  if (!context.reserves_) context.verdict.dues = {};
  if (context.op_ == limit::Op::spend && bundle_debits(context)) {
    take<&Gate::merge_debits>(context);
  } else {
    answer_checks(context);
  }
}

// Makes bundles that charge the full cost of spends that were admitted because something is left.
// Returns whether there are any.
bool Gate::bundle_debits(DecisionContext& context) noexcept {
  context.bundle_count_ = 0;
  for (std::size_t i = 0; i < context.matched_; ++i) {
    const policy::Match& match = context.match(i);
    if (!match.policy->is_late() || !context.taken(i)) continue;
    store::Charge& charge = context.charges_[i];
    charge.op = limit::Op::debit;
    charge.cost = match.cost;
    charge.in_outage = context.counted_alone(i);
    context.bundles_[context.bundle_count_++] = {{&charge, 1}, {&context.decisions_[i], 1}};
  }
  return context.bundle_count_ > 0;
}

void Gate::merge_debits(DecisionContext& context) const noexcept {
  itemise(context, 0);
  answer_checks(context);
}

// Writes what a charge decided. Where nothing is promised, r is 0.
void Gate::write_result(const DecisionContext& context, std::size_t charge,
                        CheckResult& result) noexcept {
  result.decision = context.decisions_[charge];
  result.taken = context.taken(charge);
  result.outage = context.outages_.test(charge);
  if (!context.is_hidden(charge)) return;
  result.decision.remaining = 0;
  result.decision.reset = limit::Decision::no_reset;
}

void Gate::answer_checks(DecisionContext& context) noexcept {
  for (std::size_t i = 0; i < context.matched_; ++i) {
    CheckResult& result = context.results_[context.check_of_[context.match_of_[i]]];
    write_result(context, i, result);
  }
  context.results = std::span(context.results_).first(context.asked_);
  context.done_.call(context.done_.context);
}

}  // namespace headgate::gate
