#include "headgate/policy/shared_of.h"

#include "headgate/policy/law_of.h"

namespace headgate::policy {

std::shared_ptr<const limit::Shared> shared_of(const Policy& policy, const Grant& grant) {
  if (policy.sharing == limit::Sharing::none || grant.unlimited) return nullptr;
  const auto law = law_of(limit::share_of(grant.quota, policy.outage_percent), policy.terms);
  limit::Shared shared{policy.on_outage, law.value_or(grant.law)};
  shared.denials_last =
      policy.terms.denied == limit::Denied::free && !policy.is_settled() && policy.terms.delay == 0;
  if (policy.sharing == limit::Sharing::leased) shared.leased = limit::leasable(grant.law);
  return std::make_shared<const limit::Shared>(shared);
}

}  // namespace headgate::policy
