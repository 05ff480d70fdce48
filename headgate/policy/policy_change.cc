// Policies as they might be, and what they look at.

#include <utility>

#include "headgate/limit/law.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

FieldsUsed PolicySet::fields_used() const {
  FieldsUsed fields_used;
  const ClientAddress& client = settings_.client_address;
  if (!client.trusted_proxies.empty() || client.trust_unix) {
    fields_used.request_headers = {"forwarded", "x-forwarded-for"};
  }
  for (std::size_t i = 0; i < rules_->rules.size(); ++i) {
    if (rules_->policies[i].mode == Mode::off) continue;
    const Rule& rule = rules_->rules[i];
    for (const Component& component : rule.key) component.add_to(fields_used);
    for (const Condition& condition : rule.conditions) {
      fields_used.path |= condition.path.has_value();
      fields_used.method |= !condition.methods.empty();
      fields_used.host |= condition.host.has_value();
      for (const auto& header : condition.headers) fields_used.request_headers.insert(header.name);
    }
    if (rule.cost.source == CostRule::Source::request_header) {
      fields_used.request_headers.insert(rule.cost.header);
    } else if (rule.cost.source == CostRule::Source::response_header) {
      fields_used.response_headers.insert(rule.cost.header);
    }
  }
  return fields_used;
}

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
  for (Grant& grant : policy.grants) {
    if (&grant == policy.grants.data()) {
      grant.quota.units = change.quota.value_or(grant.quota.units);
      grant.quota.window = change.window.value_or(grant.quota.window);
    }
    if (grant.unlimited) continue;
    limit::Terms terms = policy.terms;
    if (grant.quota.window > 0) terms.offset %= grant.quota.window;
    const auto law = limit::make_law(grant.quota, terms);
    if (!law) {
      return failure(limit::offers(terms.algorithm, terms.denied)
                         ? "would have a quota and a window beyond exact arithmetic"
                         : "lets denials cost something, which this algorithm has no way to do");
    }
    grant.law = *law;
  }
  return std::make_shared<const PolicySet>(settings_, std::move(rules));
}

std::shared_ptr<const PolicySet> PolicySet::only(std::size_t index) const {
  auto rules = std::make_unique<Rules>(*rules_);
  for (Policy& policy : rules->policies) {
    if (policy.index != index) policy.mode = Mode::off;
  }
  return std::make_shared<const PolicySet>(settings_, std::move(rules));
}

}  // namespace headgate::policy
