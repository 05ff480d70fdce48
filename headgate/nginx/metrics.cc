#include "headgate/nginx/metrics.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace headgate::nginx {
namespace {

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  ((out += "# HELP ") += name) += ' ';
  ((out += help) += "\n# TYPE ") += name;
  ((out += ' ') += type) += '\n';
}

// A label's value: backslash, quote and line feed are escaped; names hold nothing worse.
void label(std::string& out, std::string_view name, std::string_view value) {
  (out += name) += "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
}

void sample(std::string& out, std::string_view name, std::uint64_t value) {
  ((out += name) += ' ') += std::to_string(value);
  out += '\n';
}

void sample(std::string& out, std::string_view name, std::string_view policy, std::uint64_t value) {
  (out += name) += '{';
  label(out, "policy", policy);
  ((out += "} ") += std::to_string(value)) += '\n';
}

void decision(std::string& out, std::string_view policy, std::string_view outcome,
              std::uint64_t value) {
  out += "headgate_decisions_total{";
  label(out, "policy", policy);
  out += ',';
  label(out, "outcome", outcome);
  ((out += "} ") += std::to_string(value)) += '\n';
}

void one(std::string& out, std::string_view name, std::string_view type, std::string_view help,
         std::uint64_t value) {
  head(out, name, type, help);
  sample(out, name, value);
}

}  // namespace

std::string metrics_text(const policy::PolicySet& policies, const Counters& counters,
                         const store::Table& table) {
  struct Row {
    std::string_view name;
    PolicyTotals totals;
  };
  std::vector<Row> rows;
  for (const policy::Policy& policy : policies.policies()) {
    rows.push_back({policy.name, counters.totals(policy.name)});
  }

  std::string out;
  head(out, "headgate_decisions_total", "counter", "Decisions of each policy, by outcome.");
  for (const auto& [name, totals] : rows) {
    decision(out, name, "admitted", totals.admitted);
    decision(out, name, "denied", totals.denied);
    decision(out, name, "shadow-denied", totals.shadow_denied);
  }
  head(out, "headgate_refunds_total", "counter", "Charges given back because of refund-on.");
  for (const auto& [name, totals] : rows) {
    sample(out, "headgate_refunds_total", name, totals.refunded);
  }
  head(out, "headgate_cost_defaulted_total", "counter",
       "Requests whose cost was not told, or not readably.");
  for (const auto& [name, totals] : rows) {
    sample(out, "headgate_cost_defaulted_total", name, totals.cost_defaulted);
  }

  const store::TableStats stats = table.stats();
  one(out, "headgate_table_memory_bytes", "gauge", "Memory of the table, everything included.",
      stats.memory);
  one(out, "headgate_table_cells", "gauge", "Keys that the table has room for.", stats.cells);
  one(out, "headgate_table_live_cells", "gauge",
      "Keys without a full quota, estimated on large tables.", stats.live);
  one(out, "headgate_table_evictions_total", "counter",
      "Keys that made room for more restricted ones.", stats.evictions);
  one(out, "headgate_table_unkept_total", "counter",
      "New keys that were not kept because every cell held a more restricted one.", stats.unkept);

  const ModuleCounts& module = counters.module();
  constexpr auto relaxed = std::memory_order_relaxed;
  one(out, "headgate_reloads_total", "counter", "Policy files taken over while running.",
      module.reloads.load(relaxed));
  one(out, "headgate_refused_reloads_total", "counter", "Policy files refused while running.",
      module.refused_reloads.load(relaxed));
  one(out, "headgate_fields_left_out_total", "counter", "Own fields that could not be written.",
      module.fields_left_out.load(relaxed));
  one(out, "headgate_upstream_fields_dropped_total", "counter",
      "Rate limit fields of upstream that were malformed, or stale from a cache.",
      module.upstream_fields_dropped.load(relaxed));
  return out;
}

}  // namespace headgate::nginx
