#include "headgate/nginx/metrics.h"

#include <vector>

#include "headgate/metrics/common.h"

namespace headgate::nginx {

std::string metrics_text(const MainConf& conf) {
  const Counters& counters = *conf.counters;
  std::vector<metrics::NamedTotals> totals;
  for (const policy::Policy& policy : conf.policies->policies()) {
    totals.push_back({policy.name, counters.totals(policy.name)});
  }
  const ModuleCounts& module = counters.module();
  constexpr auto relaxed = std::memory_order_relaxed;

  std::string text;
  metrics::Exposition out(text);
  metrics::expose_process({module.started, module.last_reload.load(relaxed)}, out);
  metrics::expose_requests(counters.requests(), out);
  metrics::expose_policies(totals, out);
  metrics::expose_quotas(*conf.policies, out);
  metrics::expose_overrides(
      conf.in_force->overrides(),
      {module.override_changes.load(relaxed), module.refused_override_files.load(relaxed)}, out);
  metrics::expose_table(conf.table->stats(), out);
  if (conf.redis != nullptr) {
    metrics::expose_redis(
        {conf.redis->status().up, module.redis.round_trips.load(relaxed),
         module.redis.timeouts.load(relaxed), module.redis.remembered.load(relaxed),
         module.redis.leased.load(relaxed)},
        out);
  }
  metrics::expose_reloads(module.reloads.load(relaxed), module.refused_reloads.load(relaxed), out);
  out.one("headgate_tables_changed_total", metrics::Exposition::Type::counter,
          "Reloads to a smaller table, another file, or another Redis: quotas were full again.",
          module.tables_changed.load(relaxed));
  out.one(
      "headgate_refused_connections_total", metrics::Exposition::Type::counter,
      "Connections closed, and requests over HTTP/2 and HTTP/3 refused, because their address had "
      "too many.",
      module.refused_connections.load(relaxed));
  out.one("headgate_decision_log_dropped_total", metrics::Exposition::Type::counter,
          "Lines of the decision log that its file did not take.",
          module.decision_lines_dropped.load(relaxed));
  out.begin("headgate_wrong_tokens_total", metrics::Exposition::Type::counter,
            "Wrong tokens that callers have shown.");
  out.sample({{"door", "nginx"}}, module.wrong_tokens.load(relaxed));
  metrics::expose_fields_left_out(module.fields_left_out.load(relaxed), out);
  out.one("headgate_upstream_fields_dropped_total", metrics::Exposition::Type::counter,
          "Rate limit fields of upstream that were malformed, or stale from a cache.",
          module.upstream_fields_dropped.load(relaxed));
  return text;
}

}  // namespace headgate::nginx
