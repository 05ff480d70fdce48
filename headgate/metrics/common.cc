#include "headgate/metrics/common.h"

#include <array>
#include <map>
#include <utility>

namespace headgate::metrics {

using Type = Exposition::Type;

void expose_process(const ProcessTimes& times, Exposition& out) {
  out.begin("headgate_build_info", Type::gauge, "1, with the version of this build.");
  out.sample({{"version", HEADGATE_VERSION}}, 1);
  out.one("headgate_start_time_seconds", Type::gauge, "Unix time of the start.", times.start);
  out.one("headgate_last_reload_timestamp_seconds", Type::gauge,
          "Unix time when the policy file in force was read; the start if there was no reload.",
          times.last_reload);
}

void expose_requests(const gate::PolicyTotals& requests, Exposition& out) {
  out.begin("headgate_requests_total", Type::counter,
            "Requests to which a policy applied, by outcome, however many policies decided each.");
  out.sample({{"outcome", "admitted"}}, requests.admitted);
  out.sample({{"outcome", "denied"}}, requests.denied);
  out.sample({{"outcome", "shadow-denied"}}, requests.shadow_denied);
}

void expose_quotas(const policy::PolicySet& policies, Exposition& out) {
  out.begin("headgate_policy_quota", Type::gauge,
            "Units of each policy's quota; none if it is unlimited.");
  for (const policy::Policy& policy : policies.policies()) {
    const policy::Grant& own = policy.grants.front();
    if (own.unlimited) continue;
    out.sample({{"policy", policy.name}, {"unit", policy.unit}}, own.quota.units);
  }
  out.begin("headgate_policy_window_seconds", Type::gauge,
            "The window of each policy; none if it is unlimited, or counts requests at a time.");
  for (const policy::Policy& policy : policies.policies()) {
    if (policy.has_window()) {
      out.sample_seconds({}, {{"policy", policy.name}}, policy.grants.front().quota.window);
    }
  }
}

void expose_overrides(const policy::OverrideList& overrides, const OverrideTotals& totals,
                      Exposition& out) {
  std::map<std::string_view, std::uint64_t> in_force;
  std::uint64_t left_out = 0;
  for (std::size_t i = 0; i < overrides.all.size(); ++i) {
    if (overrides.faults[i].empty()) {
      ++in_force[overrides.all[i].policy];
    } else {
      ++left_out;
    }
  }
  out.begin("headgate_overrides", Type::gauge,
            "Overrides in force that were made while the program runs, by policy.");
  for (const auto& [policy, count] : in_force) out.sample({{"policy", policy}}, count);
  out.one("headgate_overrides_left_out", Type::gauge,
          "Overrides without effect, because they do not fit the policies in force.", left_out);
  out.one("headgate_override_changes_total", Type::counter,
          "Times that those overrides were changed, or have ended.", totals.changes);
  out.one("headgate_overrides_refused_total", Type::counter,
          "Times that the file of overrides had faults when it was read.", totals.refused_files);
}

void expose_policies(std::span<const NamedTotals> policies, Exposition& out) {
  out.begin("headgate_decisions_total", Type::counter, "Decisions of each policy, by outcome.");
  for (const NamedTotals& one : policies) {
    const auto decided = [&](std::string_view outcome, std::uint64_t value) {
      out.sample({{"policy", one.policy}, {"outcome", outcome}}, value);
    };
    decided("admitted", one.totals.admitted);
    decided("denied", one.totals.denied);
    decided("shadow-denied", one.totals.shadow_denied);
  }
  out.begin("headgate_decisions_without_redis_total", Type::counter,
            "Decisions of each policy that were made while Redis was away, as on-outage says.");
  for (const auto& [policy, totals] : policies) out.sample({{"policy", policy}}, totals.outage);
  out.begin("headgate_refunds_total", Type::counter, "Charges given back because of refund-on.");
  for (const auto& [policy, totals] : policies) out.sample({{"policy", policy}}, totals.refunded);
  out.begin("headgate_delayed_total", Type::counter,
            "Requests of each policy that had to wait, as delay says.");
  for (const auto& [policy, totals] : policies) out.sample({{"policy", policy}}, totals.delayed);
  out.begin("headgate_cost_defaulted_total", Type::counter,
            "Requests whose cost was not told, or not readably.");
  for (const auto& [policy, totals] : policies) {
    out.sample({{"policy", policy}}, totals.cost_defaulted);
  }
}

void expose_table(const store::TableStats& stats, Exposition& out) {
  out.one("headgate_table_memory_bytes", Type::gauge, "Memory of the table, everything included.",
          stats.memory);
  out.one("headgate_table_cells", Type::gauge, "Keys that the table has room for.", stats.cells());
  out.one("headgate_table_live_cells", Type::gauge,
          "Keys that keep their place, estimated on large tables.", stats.live());
  const std::array kinds = {std::pair("narrow", stats.narrow), std::pair("wide", stats.wide),
                            std::pair("ledger", stats.ledger)};
  out.begin("headgate_table_kind_cells", Type::gauge,
            "Keys that the table has room for, by kind of place.");
  for (const auto& [kind, places] : kinds) out.sample({{"kind", kind}}, places.all);
  out.begin("headgate_table_kind_live_cells", Type::gauge,
            "Keys that keep their place, by kind of place, estimated on large tables.");
  for (const auto& [kind, places] : kinds) out.sample({{"kind", kind}}, places.live);
  out.one("headgate_table_unkept_total", Type::counter,
          "Decisions on keys for which the full table had no place.", stats.unkept);
  out.one("headgate_table_merged_total", Type::counter,
          "Records of moving windows that had to share a place in a full log.", stats.merged);
  out.one("headgate_table_file_lost", Type::gauge,
          "1 if the table's file was truncated, deleted, moved or replaced while in use.",
          stats.file_lost ? 1 : 0);
}

void expose_redis(const RedisTotals& redis, Exposition& out) {
  out.one("headgate_redis_up", Type::gauge, "1 if Redis answers this process.", redis.up ? 1 : 0);
  out.one("headgate_redis_round_trips_total", Type::counter,
          "Replies of Redis to what was asked for decisions.", redis.round_trips);
  out.one("headgate_redis_timeouts_total", Type::counter,
          "Requests for decisions that Redis did not answer in time.", redis.timeouts);
  out.one("headgate_redis_remembered_denials_total", Type::counter,
          "Requests denied without asking Redis, whose last denial still holds.", redis.remembered);
  out.one("headgate_redis_leased_decisions_total", Type::counter,
          "Requests decided from what was taken from Redis ahead.", redis.leased);
}

void expose_reloads(std::uint64_t loaded, std::uint64_t refused, Exposition& out) {
  out.one("headgate_reloads_total", Type::counter, "Policy files taken over while running.",
          loaded);
  out.one("headgate_refused_reloads_total", Type::counter, "Reloads refused while running.",
          refused);
}

void expose_fields_left_out(std::uint64_t fields, Exposition& out) {
  out.one("headgate_fields_left_out_total", Type::counter, "Own fields that could not be written.",
          fields);
}

}  // namespace headgate::metrics
