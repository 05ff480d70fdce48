#include "headgate/server/http/metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headgate/metrics/common.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using metrics::Exposition;
using Type = Exposition::Type;

// Totals of all workers.
struct Totals {
  std::array<DecisionStats::DoorTotals, door_names.size()> doors;
  gate::PolicyTotals throttle;  // of CL.THROTTLE and THROTTLE
  std::uint64_t fields_left_out = 0;
};

Totals add_up(const Engine& engine) {
  Totals totals;
  engine.for_each_worker([&](const WorkerContext& worker) {
    for (std::size_t i = 0; i < totals.doors.size(); ++i) {
      worker.stats().add_to(totals.doors[i], static_cast<DoorKind>(i));
    }
    worker.stats().add_to(totals.throttle);
    totals.fields_left_out += worker.stats().fields_left_out();
  });
  return totals;
}

void expose_latency(std::string_view door, const LatencyHistogram::Totals& latency,
                    Exposition& out) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < LatencyHistogram::bounds.size(); ++i) {
    so_far += latency.counts[i];
    out.sample("_bucket",
               {{"door", door}, {"le", metrics::decimal_seconds(LatencyHistogram::bounds[i])}},
               so_far);
  }
  so_far += latency.counts.back();
  out.sample("_bucket", {{"door", door}, {"le", "+Inf"}}, so_far);
  out.sample_seconds("_sum", {{"door", door}}, latency.sum);
  out.sample("_count", {{"door", door}}, so_far);
}

void expose_doors(const Totals& totals, Exposition& out) {
  out.begin("headgate_decision_duration_seconds", Type::histogram,
            "From the end of a request to its answer, by door.");
  for (std::size_t i = 0; i < totals.doors.size(); ++i) {
    expose_latency(door_names[i], totals.doors[i].latency, out);
  }
  const auto each = [&](std::string_view name, Type type, std::string_view help, auto value) {
    out.begin(name, type, help);
    for (std::size_t i = 0; i < totals.doors.size(); ++i) {
      out.sample({{"door", door_names[i]}}, value(totals.doors[i]));
    }
  };
  each("headgate_open_connections", Type::gauge, "Open connections.",
       [](const DecisionStats::DoorTotals& door) {
         return door.opened - std::min(door.opened, door.closed);
       });
  each("headgate_accepted_connections_total", Type::counter, "Connections taken over.",
       [](const DecisionStats::DoorTotals& door) { return door.opened; });
  each("headgate_refused_connections_total", Type::counter,
       "Connections closed at once because there were too many.",
       [](const DecisionStats::DoorTotals& door) { return door.refused; });
  each("headgate_crowded_out_connections_total", Type::counter,
       "Connections without the token that were closed because newer ones came.",
       [](const DecisionStats::DoorTotals& door) { return door.crowded_out; });
  each("headgate_accept_failures_total", Type::counter,
       "Failures to accept a connection because descriptors or memory were short.",
       [](const DecisionStats::DoorTotals& door) { return door.accept_failures; });
  each("headgate_wrong_tokens_total", Type::counter, "Wrong tokens that callers have shown.",
       [](const DecisionStats::DoorTotals& door) { return door.wrong_tokens; });
  each("headgate_unreadable_requests_total", Type::counter,
       "Requests that were malformed, or longer than the door takes.",
       [](const DecisionStats::DoorTotals& door) { return door.unreadable; });
}

}  // namespace

Content metrics_page(Engine& engine, WorkerContext& worker, std::string_view) {
  const PolicySnapshot& in_force = worker.in_force();
  std::vector<metrics::NamedTotals> policies;
  for (const policy::Policy& policy : in_force.policies().policies()) {
    policies.push_back({policy.name, in_force.counters()->totals(policy.name)});
  }
  const Totals totals = add_up(engine);

  Content page{Exposition::content_type, {}};
  Exposition out(page.body);
  metrics::expose_process({engine.started(), engine.last_reload()}, out);
  metrics::expose_requests(in_force.counters()->requests(), out);
  metrics::expose_policies(policies, out);
  metrics::expose_quotas(in_force.policies(), out);
  out.begin("headgate_throttle_decisions_total", Type::counter,
            "Decisions whose limit came with the request (CL.THROTTLE, THROTTLE), by outcome.");
  out.sample({{"outcome", "admitted"}}, totals.throttle.admitted);
  out.sample({{"outcome", "denied"}}, totals.throttle.denied);
  metrics::expose_overrides(
      in_force.overrides(),
      {in_force.number() - in_force.reading(), engine.refused_override_files()}, out);
  expose_doors(totals, out);
  metrics::expose_fields_left_out(totals.fields_left_out, out);
  metrics::expose_table(engine.table().stats(), out);
  if (redis::PolicyStore* const redis = engine.redis()) {
    const redis::RedisCounts& counts = engine.redis_counts();
    constexpr auto relaxed = std::memory_order_relaxed;
    metrics::expose_redis(
        {redis->status().up, counts.round_trips.load(relaxed), counts.timeouts.load(relaxed),
         counts.remembered.load(relaxed), counts.leased.load(relaxed)},
        out);
  }
  out.one("headgate_decision_log_dropped_total", Type::counter,
          "Lines of the decision log that were not written because too many waited.",
          engine.decision_log().dropped());
  metrics::expose_reloads(engine.reloads(), engine.refused_reloads(), out);
  return page;
}

}  // namespace headgate::server
