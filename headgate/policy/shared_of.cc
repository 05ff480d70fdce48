#include "headgate/policy/shared_of.h"

namespace headgate::policy {

std::shared_ptr<const limit::Shared> shared_of(const Policy& policy, const Grant& grant) {
  if (policy.sharing == limit::Sharing::none || grant.unlimited) return nullptr;
  limit::Terms terms = policy.terms;
  if (grant.quota.window > 0) terms.offset %= grant.quota.window;
  const auto law = limit::make_law(limit::share_of(grant.quota, policy.outage_percent), terms);
  return std::make_shared<const limit::Shared>(
      limit::Shared{policy.on_outage, law.value_or(grant.law)});
}

}  // namespace headgate::policy
