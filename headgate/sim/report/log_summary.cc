#include "headgate/sim/report/log_summary.h"

#include <algorithm>

#include "headgate/policy/algorithm.h"
#include "headgate/sim/report/figures.h"

namespace headgate::sim {
namespace {

constexpr std::size_t key_width_max = 48;

std::string counted(std::uint64_t number, const char* one, const char* several) {
  return grouped(number) + ' ' + (number == 1 ? one : several);
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string left(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

// "linear, 60 requests in 1 min".
std::string terms(const policy::Policy& policy) {
  const limit::Quota& quota = policy.grants.front().quota;
  std::string text(policy::algorithm_name(policy.terms.algorithm));
  text += ", " + amount(quota.units, policy.unit);
  if (quota.window > 0) text += " in " + duration_text(quota.window);
  if (policy.in_shadow()) text += ", shadow: it would have denied";
  if (policy.mode == policy::Mode::off) text += ", off";
  return text;
}

void add_partitions(const PolicyTotals& totals, std::string& out) {
  constexpr std::size_t figure_width = 12;
  std::size_t width = 0;
  for (const PartitionTotals& one : totals.top_denied) {
    width = std::max(width, std::min(in_quotes(one.key).size(), key_width_max));
  }
  out += "  " + left("most denied", width) + right("denied", figure_width) +
         right("admitted", figure_width) + '\n';
  for (const PartitionTotals& one : totals.top_denied) {
    out += "  " + left(in_quotes(one.key), width) + right(grouped(one.denied), figure_width) +
           right(grouped(one.admitted), figure_width) + '\n';
  }
}

// Of requests that no policy decided.
void add_refused(const Summary& summary, policy::Refusal why, const char* what, std::string& out) {
  const std::uint64_t refused = summary.refused(why);
  if (refused == 0) return;
  out += grouped(refused) +
         " of them denied before any policy decides: " + (refused == 1 ? "it has " : "they have ") +
         what + '\n';
}

}  // namespace

std::string log_headline(const Summary& summary) {
  std::string out = counted(summary.requests(), "request", "requests");
  if (summary.first()) {
    out += " in " + duration_text(summary.last()->ns - summary.first()->ns) + ", from " +
           date_text(*summary.first()) + " to " + date_text(*summary.last());
  }
  if (summary.skipped() > 0) out += "; " + counted(summary.skipped(), "line", "lines") + " skipped";
  return out + '\n';
}

std::string log_summary_text(const Summary& summary) {
  std::string out = grouped(summary.admitted()) + " admitted, " + grouped(summary.denied()) +
                    " denied (" + percent(summary.denied(), summary.requests()) + ")\n";
  add_refused(summary, policy::Refusal::unclear_host, "a host that is malformed", out);
  add_refused(summary, policy::Refusal::too_many, "more policies than may decide one request", out);
  for (const policy::Policy& policy : summary.policies()) {
    const PolicyTotals totals = summary.totals(policy.index);
    out += "\npolicy " + in_quotes(policy.name) + " (" + terms(policy) + ")\n";
    if (!policy.path_text.empty()) out += "  paths " + policy.path_text + '\n';
    if (totals.partitions == 0) {
      out += totals.denied_by_others ? "  other policies denied every request that came to it\n"
                                     : "  no request came to it\n";
      continue;
    }
    out += "  " + grouped(totals.admitted) + " admitted, " + grouped(totals.denied) + " denied (" +
           percent(totals.denied, totals.admitted + totals.denied) + ")\n  " +
           grouped(totals.partitions_denied) + " of " +
           counted(totals.partitions, "partition", "partitions") + " denied at least once (" +
           percent(totals.partitions_denied, totals.partitions) + ")\n  at most " +
           amount(totals.peak, policy.unit) + " admitted to one partition " +
           (policy.terms.algorithm == limit::Algorithm::concurrency ? "at the same time\n"
                                                                    : "in one window\n");
    if (totals.partitions_denied > 0) add_partitions(totals, out);
  }
  return out;
}

}  // namespace headgate::sim
