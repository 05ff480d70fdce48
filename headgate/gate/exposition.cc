#include "headgate/gate/exposition.h"

namespace headgate::gate {
namespace {

using Type = Exposition::Type;

std::string_view word(Type type) {
  switch (type) {
    case Type::counter:
      return "counter";
    case Type::gauge:
      return "gauge";
    case Type::histogram:
      return "histogram";
  }
  return "untyped";
}

// Of a label: backslash, quote and line feed.
void append_escaped(std::string_view value, std::string& out) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

}  // namespace

void Exposition::begin(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help);
  text_.append("\n# TYPE ").append(name).append(" ").append(word(type)).append("\n");
}

void Exposition::sample(Labels labels, std::uint64_t value) { sample({}, labels, value); }

void Exposition::sample(std::string_view suffix, Labels labels, std::uint64_t value) {
  open(suffix, labels);
  text_.append(std::to_string(value)).append("\n");
}

void Exposition::sample_seconds(std::string_view suffix, Labels labels, std::uint64_t nanoseconds) {
  open(suffix, labels);
  text_.append(decimal_seconds(nanoseconds)).append("\n");
}

void Exposition::one(std::string_view name, Type type, std::string_view help, std::uint64_t value) {
  begin(name, type, help);
  sample({}, value);
}

// Everything of a sample's line but its value.
void Exposition::open(std::string_view suffix, Labels labels) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const Label& label : labels) {
    (text_ += before).append(label.name).append("=\"");
    append_escaped(label.value, text_);
    text_ += '"';
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_ += ' ';
}

std::string decimal_seconds(std::uint64_t nanoseconds) {
  constexpr std::uint64_t second = 1'000'000'000;
  std::string out = std::to_string(nanoseconds / second);
  // The leading 1 keeps the zeros behind the point.
  std::string fraction = std::to_string(second + nanoseconds % second);
  fraction.front() = '.';
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (fraction.size() > 1) out += fraction;
  return out;
}

void expose_policies(std::span<const NamedTotals> policies, Exposition& out) {
  out.begin("headgate_decisions_total", Type::counter, "Decisions of each policy, by outcome.");
  for (const auto& [policy, totals] : policies) {
    const auto decided = [&](std::string_view outcome, std::uint64_t value) {
      out.sample({{"policy", policy}, {"outcome", outcome}}, value);
    };
    decided("admitted", totals.admitted);
    decided("denied", totals.denied);
    decided("shadow-denied", totals.shadow_denied);
  }
  out.begin("headgate_refunds_total", Type::counter, "Charges given back because of refund-on.");
  for (const auto& [policy, totals] : policies) out.sample({{"policy", policy}}, totals.refunded);
  out.begin("headgate_cost_defaulted_total", Type::counter,
            "Requests whose cost was not told, or not readably.");
  for (const auto& [policy, totals] : policies) {
    out.sample({{"policy", policy}}, totals.cost_defaulted);
  }
}

void expose_table(const store::TableStats& stats, Exposition& out) {
  out.one("headgate_table_memory_bytes", Type::gauge, "Memory of the table, everything included.",
          stats.memory);
  out.one("headgate_table_cells", Type::gauge, "Keys that the table has room for.", stats.cells);
  out.one("headgate_table_live_cells", Type::gauge,
          "Keys without a full quota, estimated on large tables.", stats.live);
  out.one("headgate_table_evictions_total", Type::counter,
          "Keys that made room for more restricted ones.", stats.evictions);
  out.one("headgate_table_unkept_total", Type::counter,
          "New keys that were not kept because every cell held a more restricted one.",
          stats.unkept);
  out.one("headgate_table_merged_total", Type::counter,
          "Records of moving windows that had to share a place in a full log.", stats.merged);
}

void expose_reloads(std::uint64_t taken_over, std::uint64_t refused, Exposition& out) {
  out.one("headgate_reloads_total", Type::counter, "Policy files taken over while running.",
          taken_over);
  out.one("headgate_refused_reloads_total", Type::counter, "Policy files refused while running.",
          refused);
}

void expose_fields_left_out(std::uint64_t fields, Exposition& out) {
  out.one("headgate_fields_left_out_total", Type::counter, "Own fields that could not be written.",
          fields);
}

}  // namespace headgate::gate
