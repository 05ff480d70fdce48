// A look at one partition, for people.

#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {

std::optional<CheckFault> Gate::inspect(std::string_view policy, std::string_view key,
                                        Refill refill, std::optional<Instant> now,
                                        DecisionContext& context,
                                        store::Completion done) const noexcept {
  using Reason = CheckFault::Reason;
  begin(now, context);
  context.done_ = done;
  constexpr std::size_t looks = 3;
  constexpr std::size_t matches_max = looks + 1;
  std::vector<policy::Match>& matches = context.scratch_.matches;
  std::optional<policy::Match> match;
  std::optional<policy::Match> other;
  try {
    context.make_room(matches_max);
    matches.reserve(matches_max);
    match = policies_->named(policy, key, 0, context.names_[0]);
    if (refill == Refill::yes) other = policies_->beside(policy, key, 0, context.names_[1]);
  } catch (const std::bad_alloc&) {
    return CheckFault{0, Reason::out_of_memory};
  }
  if (!match) return CheckFault{0, Reason::unknown_policy};
  const bool limited = has_limit(*match);
  const std::uint64_t costs[looks] = {0, 1, match->grant->quota.units};
  context.asked_ = looks;
  matches.clear();
  for (std::size_t i = 0; i < looks; ++i) {
    context.results_[i] = result_of(*match, policy);
    if (!limited) continue;
    match->cost = costs[i];
    context.check_of_[matches.size()] = static_cast<std::uint8_t>(i);
    matches.push_back(*match);
  }
  if (limited && other) {
    context.check_of_[looks] = looks;
    matches.push_back(*other);
  }
  context.matched_ = matches.size();
  if (!limited) {
    answer_checks(context);
    return std::nullopt;
  }
  charge(matches, DryRun::yes, limit::Op::peek, context);
  if (refill == Refill::yes) {
    context.op_ = limit::Op::refund;
    for (const std::size_t i : {std::size_t{0}, looks}) {
      if (i == matches.size()) continue;
      context.charges_[i].op = limit::Op::refund;
      context.charges_[i].cost = limit::Quota::cost_max;
    }
  }
  take<&Gate::merge_inspection>(context);
  return std::nullopt;
}

void Gate::merge_inspection(DecisionContext& context) const noexcept {
  context.now = *context.moment_;
  answer_checks(context);
}

}  // namespace headgate::gate
