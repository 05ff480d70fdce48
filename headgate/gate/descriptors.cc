// The steps of Envoy's rate limit protocol: descriptors of a domain instead of a request to match.

#include <algorithm>
#include <new>

#include "headgate/gate/gate.h"

namespace headgate::gate {
namespace {

bool is_limited(const policy::Match& match) noexcept {
  return match.policy != nullptr && !match.grant->unlimited;
}

// The operation that finds out whether a limit is exceeded. A fixed window denies a spend of 0 once
// its count is above the quota. The others have no such count: for them a limit is exceeded if
// nothing is left.
limit::Op op_of_check(const policy::Policy& policy) noexcept {
  return policy.terms.algorithm == limit::Algorithm::fixed_window ? limit::Op::spend
                                                                  : limit::Op::peek;
}

}  // namespace

bool Gate::decide(std::string_view domain, std::span<const policy::Descriptor> descriptors,
                  std::span<const limit::Op> ops, std::optional<Instant> now,
                  DecisionContext& context, store::Completion done) const noexcept {
  begin(now, context);
  context.done_ = done;
  context.op_ = std::find(ops.begin(), ops.end(), limit::Op::spend) != ops.end()
                    ? limit::Op::spend
                    : limit::Op::refund;
  std::span<const policy::Match> matches;
  try {
    matches = policies_->match(domain, descriptors, context.scratch_);
    context.make_room(matches.size());
  } catch (const std::bad_alloc&) {
    return false;
  }
  context.asked_ = matches.size();

  // First the limits that deny, then those of quota mode, which may deny, then shadow ones.
  context.matched_ = 0;
  const auto add_charges = [&](auto wanted) {
    for (std::size_t i = 0; i < matches.size(); ++i) {
      const policy::Match& match = matches[i];
      if (!is_limited(match) || !wanted(match)) continue;
      const bool is_check = ops[i] == limit::Op::spend && match.cost == 0;
      const limit::Op op = is_check ? op_of_check(*match.policy) : ops[i];
      const std::size_t at = context.matched_++;
      context.charges_[at] = {&match.grant->law, match.key, match.cost, op};
      context.charges_[at].shared = match.grant->shared.get();
      context.bundles_[at] = {{&context.charges_[at], 1}, {&context.decisions_[at], 1}};
      context.match_of_[at] = static_cast<std::uint8_t>(i);
    }
    return context.matched_;
  };
  context.denying_end_ =
      add_charges([](const auto& match) { return match.enforced() && !match.grant->quota_mode; });
  context.quota_end_ =
      add_charges([](const auto& match) { return match.enforced() && match.grant->quota_mode; });
  context.bundle_count_ = add_charges([](const auto& match) { return !match.enforced(); });
  if (context.matched_ > 0) {
    take<&Gate::find_waits>(context);
  } else {
    merge_descriptors(context);
  }
  return true;
}

// Decides checks of used-up limits again with a cost of 1, so that their decisions are denials with
// a wait.
void Gate::find_waits(DecisionContext& context) const noexcept {
  context.now = *context.moment_;
  context.bundle_count_ = 0;
  for (std::size_t i = 0; i < context.matched_; ++i) {
    store::Charge& charge = context.charges_[i];
    if (charge.op != limit::Op::peek || context.decisions_[i].remaining > 0) continue;
    charge.cost = 1;
    context.bundles_[context.bundle_count_++] = {{&charge, 1}, {&context.decisions_[i], 1}};
  }
  if (context.bundle_count_ > 0) {
    take<&Gate::merge_descriptors>(context);
  } else {
    merge_descriptors(context);
  }
}

void Gate::merge_descriptors(DecisionContext& context) const noexcept {
  const std::span<const policy::Match> matches = context.scratch_.matches;
  // Quota mode denies if all of its limits deny; one that is also in shadow mode never does.
  const auto quota_mode =
      std::span(context.decisions_)
          .subspan(context.denying_end_, context.quota_end_ - context.denying_end_);
  const auto admitted = [](const limit::Decision& decision) { return decision.admitted; };
  const bool one_never_denies = std::any_of(matches.begin(), matches.end(), [](const auto& match) {
    return is_limited(match) && match.grant->quota_mode && !match.enforced();
  });
  const bool quota_mode_counts =
      std::all_of(quota_mode.begin(), quota_mode.end(), admitted) ||
      (!one_never_denies && std::none_of(quota_mode.begin(), quota_mode.end(), admitted));
  context.enforced_ = quota_mode_counts ? context.quota_end_ : context.denying_end_;
  if (context.matched_ > 0) conclude(context);

  for (std::size_t i = 0; i < matches.size(); ++i) {
    context.results_[i] = {
        matches[i].policy, matches[i].grant, matches[i].partition, false, {.admitted = true}};
    if (matches[i].policy != nullptr) context.results_[i].name = matches[i].policy->name;
  }
  for (std::size_t i = 0; i < context.matched_; ++i) {
    CheckResult& result = context.results_[context.match_of_[i]];
    result.limited = true;
    write_result(context, i, result);
  }
  context.results = std::span(context.results_).first(matches.size());
  context.done_.call(context.done_.context);
}

}  // namespace headgate::gate
