#include "headgate/gate/table_options.h"

#include <algorithm>
#include <variant>

namespace headgate::gate {

store::TableOptions table_options(const policy::PolicySet& policies) {
  const policy::TableSettings& settings = policies.settings().table;
  store::TableOptions options;
  options.memory = settings.memory;
  options.file = settings.file;
  unsigned narrow = 0;
  unsigned wide = 0;
  for (const policy::Policy& policy : policies.policies()) {
    const limit::Law& law = policy.grants.front().law;
    if (std::holds_alternative<limit::LinearWhole>(law)) ++narrow;
    if (std::holds_alternative<limit::LinearExact>(law)) ++wide;
  }
  // A wide cell has twice the bytes. Neither kind is ever left without room: a reload may bring it.
  if (narrow + wide > 0)
    options.wide_share = std::clamp(64 * 2 * wide / (narrow + 2 * wide), 1u, 63u);
  return options;
}

}  // namespace headgate::gate
