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
  for (std::size_t i = 0; i < rules_->rules.size(); ++i) {
    if (rules_->policies[i].mode == Mode::off) continue;
    const Rule& rule = rules_->rules[i];
    for (const Component& component : rule.key) component.add_to(fields_used);
    for (const Condition& condition : rule.conditions) {
      fields_used.path |= condition.path.has_value() || condition.exact_path.has_value();
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

}  // namespace headgate::policy
