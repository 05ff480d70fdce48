#include "headgate/nginx/metrics.h"

#include <vector>

#include "headgate/gate/exposition.h"

namespace headgate::nginx {

std::string metrics_text(const policy::PolicySet& policies, const Counters& counters,
                         const store::Table& table) {
  std::vector<gate::NamedTotals> totals;
  for (const policy::Policy& policy : policies.policies()) {
    totals.push_back({policy.name, counters.totals(policy.name)});
  }
  const ModuleCounts& module = counters.module();
  constexpr auto relaxed = std::memory_order_relaxed;

  std::string text;
  gate::Exposition out(text);
  gate::expose_policies(totals, out);
  gate::expose_table(table.stats(), out);
  gate::expose_reloads(module.reloads.load(relaxed), module.refused_reloads.load(relaxed), out);
  gate::expose_fields_left_out(module.fields_left_out.load(relaxed), out);
  out.one("headgate_upstream_fields_dropped_total", gate::Exposition::Type::counter,
          "Rate limit fields of upstream that were malformed, or stale from a cache.",
          module.upstream_fields_dropped.load(relaxed));
  return text;
}

}  // namespace headgate::nginx
