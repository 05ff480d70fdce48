// The steps of a decision interface: checks of named policies instead of a request to match.

#include <algorithm>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

// Returns a fault if the keys do not fit.
std::optional<CheckFault> fault_of_room(std::span<const policy::Match> matches,
                                        const DueRoom& room) noexcept {
  std::size_t left = room.bytes;
  for (const policy::Match& match : matches) {
    const std::size_t size = match.key.size() + room.each;
    if (size > left) return CheckFault{0, CheckFault::Reason::too_long};
    left -= size;
  }
  return std::nullopt;
}

bool is_among(const policy::Match& match, std::span<const policy::Match> matches) noexcept {
  return std::any_of(matches.begin(), matches.end(),
                     [&](const policy::Match& other) { return other.key == match.key; });
}

}  // namespace

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op,
                                       std::optional<Instant> now, DecisionContext& context,
                                       store::Completion done) const noexcept {
  begin(now, context);
  return decide(checks, op, context, done);
}

std::optional<CheckFault> Gate::reserve(std::span<const Check> checks, std::optional<Instant> now,
                                        DecisionContext& context, store::Completion done,
                                        const DueRoom& room) const noexcept {
  begin(now, context);
  if (!now) context.now = store_.now();  // in case no check is limited
  context.reserves_ = true;
  return decide(checks, limit::Op::spend, context, done, room);
}

std::optional<CheckFault> Gate::decide(std::span<const Check> checks, limit::Op op,
                                       DecisionContext& context, store::Completion done,
                                       const DueRoom& room) const noexcept {
  context.done_ = done;
  if (const auto fault = match_checks(checks, op, context)) return fault;
  if (context.reserves_) {
    if (const auto fault = fault_of_room(context.scratch_.matches, room)) return fault;
  }

  context.asked_ = checks.size();
  if (context.matched_ == 0) {
    answer_checks(context);
    return std::nullopt;
  }
  charge(context.scratch_.matches, DryRun::no, op, context);
  take<&Gate::merge_checks>(context);
  return std::nullopt;
}

// Begins the result of a check.
CheckResult Gate::result_of(const policy::Match& match, std::string_view asked) noexcept {
  CheckResult result{
      match.policy, match.grant, match.partition, has_limit(match), {.admitted = true}};
  result.shadow = match.shadow;
  const std::string& name = match.policy->name;
  result.name = name == asked ? name : match.policy->title();
  return result;
}

// Finds the policies and keys of the checks. Fills context.results_ for all checks, and the matches
// for those that are limited. Unless it is a look, matches of the numbers beside those of the
// checks follow as far as there is room; their results follow those of the checks and are not
// shown.
std::optional<CheckFault> Gate::match_checks(std::span<const Check> checks, limit::Op op,
                                             DecisionContext& context) const noexcept {
  using Reason = CheckFault::Reason;
  if (checks.size() > policy::policies_per_request_max) {
    return CheckFault{policy::policies_per_request_max, Reason::too_many};
  }
  std::vector<policy::Match>& matches = context.scratch_.matches;
  matches.clear();
  const bool both = has_candidates_ && op != limit::Op::peek;
  const std::size_t room =
      std::min(checks.size() * (both ? 2 : 1), policy::policies_per_request_max);
  try {
    matches.reserve(room);
    context.make_room(room);
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
    if (op == limit::Op::peek && match->policy->is_late()) match->cost = admission_cost(*match);
    context.results_[i] = result_of(*match, check.policy);
    if (!has_limit(*match)) continue;
    if (is_among(*match, matches)) return CheckFault{i, Reason::asked_twice};
    context.check_of_[matches.size()] = static_cast<std::uint8_t>(i);
    matches.push_back(*match);
  }
  for (std::size_t i = 0, end = checks.size(); both && i < checks.size() && end < room; ++i) {
    const Check& check = checks[i];
    std::optional<policy::Match> match;
    try {
      match =
          policies_->beside(check.policy, check.key, check.cost.value_or(0), context.names_[end]);
    } catch (const std::bad_alloc&) {
      return CheckFault{i, Reason::out_of_memory};
    }
    if (!match || !has_limit(*match)) continue;
    if (!check.cost) match->cost = reserved(*match->policy, *match->grant);
    if (is_among(*match, matches)) return CheckFault{i, Reason::asked_twice};
    context.check_of_[matches.size()] = static_cast<std::uint8_t>(end++);
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
