#include "headgate/policy/policy_change.h"

#include <utility>

#include "headgate/limit/law.h"
#include "headgate/policy/law_of.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/one_state.h"
#include "headgate/policy/policy_set.h"
#include "headgate/policy/shared_of.h"

namespace headgate::policy {

Result<std::shared_ptr<const PolicySet>, std::string> PolicySet::with(std::size_t index,
                                                                      const Change& change) const {
  const auto failure = [](std::string why) { return Failure<std::string>(std::move(why)); };
  auto rules = std::make_unique<Rules>(*rules_);
  Policy& policy = rules->policies[index];
  const bool is_slot = policy.terms.algorithm == limit::Algorithm::concurrency;
  if (is_slot && (change.window || change.algorithm)) {
    return failure("counts requests in flight; expected a change of its quota alone");
  }
  if (!is_slot && change.algorithm == limit::Algorithm::concurrency) {
    return failure("counts over a window and not what is in flight; expected another algorithm");
  }
  if (change.algorithm) policy.terms.algorithm = *change.algorithm;
  if (change.window || policy.terms.algorithm != limit::Algorithm::fixed_window) {
    policy.terms.calendar = nullptr;
  }
  if (!limit::can_wait(policy.terms.algorithm)) policy.terms.delay = 0;
  policy.terms.exact = false;
  for (Grant& grant : policy.grants) {
    if (&grant == policy.grants.data()) {
      if (change.quota || change.window) {
        grant.quota = {change.quota.value_or(grant.quota.units),
                       change.window.value_or(grant.quota.window)};
      }
    }
    if (grant.unlimited) continue;
    if (!make_laws(policy.terms, grant)) {
      return failure(limit::offers(policy.terms.algorithm, policy.terms.denied)
                         ? "would have a quota and a window beyond exact arithmetic"
                         : "has a cost for denials, which this algorithm does not offer");
    }
  }
  agree_on_one_state(policy, rules->rules[index]);
  for (Grant& grant : policy.grants) grant.shared = shared_of(policy, grant);
  return std::make_shared<const PolicySet>(settings_, std::move(rules));
}

std::shared_ptr<const PolicySet> PolicySet::with_numbers_of(const PolicySet& newer) const {
  auto rules = std::make_unique<Rules>(*rules_);
  for (Policy& policy : rules->policies) {
    const Policy* const other = newer.find(policy.name);
    if (other == nullptr || policy.sharing != other->sharing) continue;
    if (policy.terms.algorithm != other->terms.algorithm) continue;
    Rule& rule = rules->rules[policy.index];
    const Rule& theirs = newer.rules_->rules[other->index];
    if (rule.by_name_alone() || theirs.by_name_alone()) continue;  // no request matches them
    if (rule.key != theirs.key) continue;
    policy.terms = other->terms;
    policy.grants = other->grants;
    policy.on_outage = other->on_outage;
    policy.outage_percent = other->outage_percent;
    rule.overrides = theirs.overrides;
    rule.v4_prefixes = theirs.v4_prefixes;
    rule.v6_prefixes = theirs.v6_prefixes;
  }
  return std::make_shared<const PolicySet>(settings_, std::move(rules));
}

std::shared_ptr<const PolicySet> PolicySet::only(std::size_t index) const {
  auto rules = std::make_unique<Rules>(*rules_);
  for (Policy& policy : rules->policies) {
    if (policy.index != index) policy.mode = Mode::off;
    policy.has_candidate = false;
  }
  return std::make_shared<const PolicySet>(settings_, std::move(rules));
}

}  // namespace headgate::policy
