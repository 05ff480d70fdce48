#include "headgate/sim/report/comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "headgate/sim/report/figures.h"

namespace headgate::sim {
namespace {

using Row = std::vector<std::string>;

// Names are aligned left, numbers right.
std::string aligned(const std::vector<Row>& rows, std::size_t names) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i < names ? row[i] + space : space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace

std::string comparison_text(std::span<const Compared> all) {
  const bool several = std::any_of(all.begin(), all.end(), [](const Compared& one) {
    return one.summary->policies().size() > 1;
  });
  std::vector<Row> rows{{"variant"}};
  if (several) rows[0].emplace_back("policy");
  for (const char* title : {"admitted", "denied", "denied %", "partitions", "of them denied",
                            "busiest window [units]"}) {
    rows[0].emplace_back(title);
  }
  const auto add = [&](const std::string& variant, const PolicyTotals& totals) {
    Row row{variant};
    if (several) row.push_back(in_quotes(totals.policy->name));
    row.push_back(grouped(totals.admitted));
    row.push_back(grouped(totals.denied));
    row.push_back(percent(totals.denied, totals.admitted + totals.denied));
    row.push_back(grouped(totals.partitions));
    row.push_back(grouped(totals.partitions_denied));
    row.push_back(grouped(totals.peak));
    rows.push_back(std::move(row));
  };
  for (const Compared& one : all) {
    for (std::size_t i = 0; i < one.summary->policies().size(); ++i) {
      add(i == 0 ? one.name : "", one.summary->totals(i));
    }
  }
  return aligned(rows, several ? 2 : 1);
}

std::string comparison_json(std::span<const Compared> all) {
  std::string out = "{\"variants\":[";
  for (const Compared& one : all) {
    if (out.back() != '[') out += ',';
    std::string summary = one.summary->json();
    summary.pop_back();
    const nlohmann::json name = one.name;
    out += "{\"variant\":" + name.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
           ',' + summary.substr(1);
  }
  return out + "]}\n";
}

}  // namespace headgate::sim
