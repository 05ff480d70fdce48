#include "headgate/gate/decision_context.h"

namespace headgate::gate {

void DecisionContext::make_room(std::size_t policies) {
  if (policies <= match_of_.size()) return;
  check_of_.resize(policies);
  results_.resize(policies);
  names_.resize(policies);
  opaque_pks_.resize(policies);
  violated_.resize(policies);
  dues_.resize(policies);
  items_.resize(policies);
  bundles_.resize(policies);
  decisions_.resize(policies);
  charges_.resize(policies);
  match_of_.resize(policies);  // the last one: tells that all have grown
}

}  // namespace headgate::gate
