#include "headgate/policy/fields_used.h"

#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

FieldsUsed PolicySet::fields_used() const {
  FieldsUsed fields_used;
  const ClientAddress& client = settings_.client_address;
  if (!client.trusted_proxies.empty() || client.trust_unix) {
    fields_used.request_headers = {"forwarded", "x-forwarded-for"};
  }
  for (const Condition& condition : rules_->allow) condition.add_to(fields_used);
  for (std::size_t i = 0; i < rules_->rules.size(); ++i) {
    if (rules_->policies[i].mode == Mode::off) continue;
    const Rule& rule = rules_->rules[i];
    for (const Component& component : rule.key) component.add_to(fields_used);
    for (const Condition& condition : rule.conditions) condition.add_to(fields_used);
    for (const std::size_t other : rule.unless) {
      for (const Condition& condition : rules_->rules[other].conditions) {
        condition.add_to(fields_used);
      }
    }
    rule.cost.add_to(fields_used);
    if (rule.settled) rule.settled->add_to(fields_used);
  }
  return fields_used;
}

}  // namespace headgate::policy
