// A look at one partition, for people.

#include <algorithm>
#include <iterator>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

// What is decided about a partition, in the order of the results. The last one is not shown.
enum Look : std::size_t { what_is_left, one_unit, whole_quota, full_quota, looks };

// Of the states of one partition that are apart from its own, so many are refilled for its policy,
// and for the candidate: as many as fit into one decision.
constexpr std::size_t apart_max = (policy::policies_per_request_max - looks - 1) / 2;

// The grant's law, with the time until the whole quota is available as `t`.
limit::Law full_law_of(const policy::Grant& grant) noexcept {
  limit::Parameters made = limit::parameters_of(grant.law);
  made.terms.reset = limit::Reset::full;
  return limit::make_law(made.quota, made.terms).value();
}

}  // namespace

std::optional<CheckFault> Gate::inspect(std::string_view policy, std::string_view key,
                                        Refill refill, std::optional<Instant> now,
                                        DecisionContext& context,
                                        store::Completion done) const noexcept {
  using Reason = CheckFault::Reason;
  begin(now, context);
  context.done_ = done;
  const std::size_t matches_max = looks + (refill == Refill::yes ? 1 + 2 * apart_max : 0);
  std::vector<policy::Match>& matches = context.scratch_.matches;
  std::optional<policy::Match> match;
  std::vector<policy::Match> others;  // that are refilled besides
  try {
    context.make_room(matches_max);
    matches.reserve(matches_max);
    match = policies_->named(policy, key, 0, context.names_[0]);
    if (refill == Refill::yes && match) {
      others = policies_->apart(*match, apart_max, context.names_[1]);
      if (const auto other = policies_->beside(policy, key, 0, context.names_[2])) {
        others.push_back(*other);
        std::ranges::copy(policies_->apart(*other, apart_max, context.names_[3]),
                          std::back_inserter(others));
      }
    }
    if (match && has_limit(*match)) {
      context.full_law_ = std::make_unique<const limit::Law>(full_law_of(*match->grant));
    }
  } catch (const std::bad_alloc&) {
    return CheckFault{0, Reason::out_of_memory};
  }
  if (!match) return CheckFault{0, Reason::unknown_policy};
  const bool limited = has_limit(*match);
  const std::uint64_t costs[looks] = {0, 1, match->grant->quota.units, 0};
  context.asked_ = full_quota;
  matches.clear();
  for (std::size_t i = 0; i < looks; ++i) {
    context.results_[i] = result_of(*match, policy);
    if (!limited) continue;
    match->cost = costs[i];
    context.check_of_[matches.size()] = static_cast<std::uint8_t>(i);
    matches.push_back(*match);
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!has_limit(others[i])) continue;
    context.check_of_[matches.size()] = static_cast<std::uint8_t>(looks + i);
    matches.push_back(others[i]);
  }
  context.matched_ = matches.size();
  if (matches.empty()) {
    answer_checks(context);
    return std::nullopt;
  }
  charge(matches, DryRun::yes, limit::Op::peek, context);
  if (limited) {
    const limit::Law* const waiting_law = match->grant->waiting_law.get();
    if (waiting_law != nullptr && match->enforced()) context.charges_[one_unit].law = waiting_law;
    context.charges_[full_quota].law = context.full_law_.get();
  }
  if (refill == Refill::yes) {
    context.op_ = limit::Op::refund;
    for (std::size_t i = 0; i < matches.size(); ++i) {
      if (limited && i > what_is_left && i < looks) continue;
      context.charges_[i].op = limit::Op::refund;
      context.charges_[i].cost = limit::Quota::cost_max;
    }
  }
  take<&Gate::merge_inspection>(context);
  return std::nullopt;
}

void Gate::merge_inspection(DecisionContext& context) const noexcept {
  context.now = *context.moment_;
  if (context.results_[what_is_left].limited) show_full_wait(context);
  answer_checks(context);
}

// Of the looks at a limit.
void Gate::show_full_wait(DecisionContext& context) noexcept {
  const limit::Decision& full = context.decisions_[full_quota];
  limit::Decision& whole = context.decisions_[whole_quota];
  if (context.is_hidden(full_quota)) {
    whole.wait = limit::Decision::never;
  } else if (full.reset != limit::Decision::no_reset && whole.wait != limit::Decision::never &&
             full.reset != whole.retry_after()) {
    // Nearly always the wait of the whole quota is the same time to the nanosecond. It is not if
    // so much may pass at once before all is back (exponential), or if a denial costs something.
    whole.wait = static_cast<Nanos>(full.reset) * nanos_per_second;
  }
}

}  // namespace headgate::gate
