#include "headgate/gate/table_options.h"

#include <algorithm>
#include <variant>

namespace headgate::gate {

namespace {

// The law of most keys of a policy: of its own grant, or if that is unlimited, of the first grant
// that is not.
const limit::Law& typical(const policy::Policy& policy) {
  for (const policy::Grant& grant : policy.grants) {
    if (!std::holds_alternative<limit::Closed>(grant.law)) return grant.law;
  }
  return policy.grants.front().law;
}

}  // namespace

store::TableOptions table_options(const policy::PolicySet& policies) {
  const policy::TableSettings& settings = policies.settings().table;
  store::TableOptions options;
  options.memory = settings.memory;
  options.file = settings.file;
  // The memory per key of each kind; a narrow cell has weight 2. Every kind gets some room, because
  // a reload may bring policies of that kind.
  constexpr unsigned narrow_weight = 2;
  constexpr unsigned wide_weight = 4;
  constexpr unsigned entry_weight = 5;
  constexpr unsigned log_weight = 16;
  unsigned all = 0;
  unsigned wide = 0;
  unsigned logs = 0;
  unsigned ledger = 0;
  for (const policy::Policy& policy : policies.policies()) {
    const limit::Law& law = typical(policy);
    if (std::holds_alternative<limit::LinearWhole>(law)) {
      all += narrow_weight;
    } else if (std::holds_alternative<limit::LinearExact>(law)) {
      wide += wide_weight;
    } else if (std::holds_alternative<limit::MovingWindow>(law) ||
               std::holds_alternative<limit::Concurrency>(law)) {
      logs += log_weight;
    } else if (!std::holds_alternative<limit::Closed>(law)) {
      ledger += entry_weight;
    }
  }
  ledger += logs;
  all += wide + ledger;
  if (all > 0) {
    options.wide_share = std::clamp(64 * wide / all, 1u, 62u);
    options.ledger_share = std::clamp(64 * ledger / all, 1u, 63 - options.wide_share);
  }
  if (ledger > 0) options.log_share = std::clamp(64 * logs / ledger * 7 / 8, 1u, 56u);
  return options;
}

}  // namespace headgate::gate
