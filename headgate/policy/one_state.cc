#include "headgate/policy/one_state.h"

#include <algorithm>
#include <map>
#include <variant>

#include "headgate/limit/law.h"
#include "headgate/policy/law_of.h"

namespace headgate::policy {
namespace {

bool is_whole(const limit::Law& law) { return std::holds_alternative<limit::LinearWhole>(law); }
bool is_exact(const limit::Law& law) { return std::holds_alternative<limit::LinearExact>(law); }

// Whether a request may have the key of an override and not be counted under it, or the other way
// round: its path may be spelled in another way, and the client or the host be uncertain.
bool may_differ(const Rule& rule) {
  if (rule.overrides.empty()) return false;
  return std::ranges::any_of(rule.key, [](const Component& component) {
    return component.is_path() || component.is_address() || component.is_of_host();
  });
}

// Of each window: those with different ones share no state.
class Kinds {
 public:
  void add(const Grant& grant, const limit::Law& law) {
    Found& found = of_window_[grant.quota.window];
    found.whole = found.whole || is_whole(law);
    found.exact = found.exact || is_exact(law);
  }
  [[nodiscard]] bool are_mixed() const {
    return std::ranges::any_of(
        of_window_, [](const auto& window) { return window.second.whole && window.second.exact; });
  }

 private:
  struct Found {
    bool whole = false;
    bool exact = false;
  };
  std::map<Nanos, Found> of_window_;
};

}  // namespace

void agree_on_one_state(Policy& policy, const Rule& rule) {
  if (!may_differ(rule)) return;
  Kinds kinds;
  Kinds in_outages;  // of what machines share
  for (const Grant& grant : policy.grants) {
    if (grant.unlimited) continue;
    kinds.add(grant, grant.law);
    if (policy.sharing == limit::Sharing::none) continue;
    const auto law = law_of(limit::share_of(grant.quota, policy.outage_percent), policy.terms);
    if (law) in_outages.add(grant, *law);
  }
  if (!kinds.are_mixed() && !in_outages.are_mixed()) return;
  policy.terms.exact = true;
  for (Grant& grant : policy.grants) {
    if (is_whole(grant.law)) (void)make_laws(policy.terms, grant);  // it has more room, not less
  }
}

}  // namespace headgate::policy
