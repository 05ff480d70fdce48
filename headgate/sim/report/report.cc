#include "headgate/sim/report/report.h"

#include <algorithm>

#include "headgate/policy/algorithm.h"
#include "headgate/sim/report/figures.h"
#include "headgate/sim/report/report_plots.h"
#include "headgate/sim/report/svg.h"

namespace headgate::sim {
namespace {

constexpr double wide = 880;    // [px]
constexpr double narrow = 330;  // fits the screen of a phone
constexpr std::size_t key_shown_max = 80;
constexpr std::size_t paths_shown_max = 20;

constexpr std::string_view style = R"(
:root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--quiet:#59636e;--line:#d8dee4;
--card:#f6f8fa;--denied:#bf4408;--bar:#bf440833}
@media(prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--quiet:#9da7b1;
--line:#2a3038;--card:#151b23;--denied:#ff9a5c;--bar:#ff9a5c40}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:940px;margin:0 auto;padding:24px 14px 40px}
h1{font-size:24px;line-height:1.25;margin:0 0 4px}
h2{font-size:19px;margin:40px 0 8px;border-top:1px solid var(--line);padding-top:20px;
overflow-wrap:anywhere}
h3{font-size:15px;margin:22px 0 6px}
p{margin:6px 0;color:var(--quiet);overflow-wrap:anywhere;max-width:70ch}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:10px;margin:16px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
.card b{display:block;font-size:22px;font-weight:600;font-variant-numeric:tabular-nums}
.card span{color:var(--quiet);font-size:13px}
.card.denied b{color:var(--denied)}
table{border-collapse:collapse;width:100%;font-size:14px;margin:4px 0}
th{text-align:left;color:var(--quiet);font-weight:500;border-bottom:1px solid var(--line)}
th,td{padding:4px 8px 4px 0;vertical-align:top}
td{border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.n{text-align:right;white-space:nowrap;overflow-wrap:normal;font-variant-numeric:tabular-nums;
padding-left:8px;padding-right:0}
.t{white-space:nowrap}
.share{background:linear-gradient(var(--bar),var(--bar)) left/var(--part) 100% no-repeat}
.shadow{border:1px solid var(--line);border-radius:4px;padding:0 5px;font-size:12px;
font-weight:400;color:var(--quiet)}
li{color:var(--quiet)}
code{font:13px/1.5 ui-monospace,monospace}
svg.headgate-plot{display:block;max-width:100%;height:auto;margin:8px 0}
.narrow{display:none}
@media screen and (max-width:700px){.wide{display:none}.narrow{display:block}}
footer{margin-top:40px;border-top:1px solid var(--line);padding-top:10px;font-size:13px;
color:var(--quiet)}
@media print{body{font-size:12px}main{max-width:none;padding:0}svg,tr,.card{break-inside:avoid}
h2,h3{break-after:avoid}}
)";

std::string text(std::string_view words) { return escape_markup(words); }

std::string shown_key(std::string_view key) {
  return key.empty() ? "<i>(empty)</i>" : "<code>" + text(printed(key, key_shown_max)) + "</code>";
}

// Writes the figure twice, wide and narrow; the page shows the one that fits the screen.
template <class MakeFigure>
std::string figure(const MakeFigure& make) {
  return "<div class=\"wide\">" + svg(make(wide)) + "</div><div class=\"narrow\">" +
         svg(make(narrow)) + "</div>\n";
}

std::string card(const std::string& value, const std::string& words, bool is_denied = false) {
  return std::string("<div class=\"card") + (is_denied ? " denied" : "") + "\"><b>" + text(value) +
         "</b><span>" + text(words) + "</span></div>";
}

// A table of names with their requests and denials. A bar behind the name shows the denials, beside
// the most of the table.
class DeniedTable {
 public:
  // `share_of`: what the share is of.
  DeniedTable(const std::string& what, const std::string& share_of)
      : head_("<table><thead><tr><th>" + what +
              "</th><th class=\"n\">denied</th><th class=\"n\">of " + share_of +
              "</th><th class=\"n\">share</th></tr></thead><tbody>\n") {}

  void add(std::string name, std::uint64_t denied, std::uint64_t all) {
    rows_.push_back({std::move(name), denied, all});
  }
  void sort() {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.denied > b.denied; });
  }

  std::string done() && {
    std::uint64_t most = 0;
    for (const Row& row : rows_) most = std::max(most, row.denied);
    std::string out = std::move(head_);
    for (const Row& row : rows_) {
      std::string part = percent(row.denied, most);
      std::erase(part, ' ');
      out += "<tr><td class=\"share\" style=\"--part:" + part + "\">" + row.name +
             "</td><td class=\"n\">" + grouped(row.denied) + "</td><td class=\"n\">" +
             grouped(row.all) + "</td><td class=\"n\">" + percent(row.denied, row.all) +
             "</td></tr>\n";
    }
    return out + "</tbody></table>\n";
  }

 private:
  struct Row {
    std::string name;
    std::uint64_t denied;
    std::uint64_t all;
  };
  std::string head_;
  std::vector<Row> rows_;
};

std::string policy_name(const policy::Policy& policy) {
  return "<code>" + text(policy.name) + "</code>" +
         (policy.in_shadow() ? " <span class=\"shadow\">shadow</span>" : "");
}

std::string policy_words(const policy::Policy& policy) {
  const limit::Quota& quota = policy.grants.front().quota;
  std::string words(policy::algorithm_name(policy.terms.algorithm));
  words += ", " + amount(quota.units, policy.unit);
  if (quota.window > 0) words += " in " + duration_text(quota.window);
  words += "; key " + policy.key_text;
  if (!policy.match_text.empty()) words += "; for " + policy.match_text;
  if (policy.in_shadow()) words += "; in shadow, so it denies nothing";
  return words + '.';
}

std::string overview(const Findings& findings) {
  const Summary& all = *findings.summary;
  std::string out = "<h1>What " + text(printed(findings.config, key_shown_max)) +
                    " would have denied</h1>\n<p>Replayed: " + text(printed(findings.logs, 400));
  if (all.first()) {
    const auto unbroken = [](Instant at) {
      return "<span class=\"t\">" + text(date_text(at)) + "</span>";
    };
    out += ", " + unbroken(*all.first()) + " to " + unbroken(*all.last()) + " (" +
           text(duration_text(all.last()->ns - all.first()->ns)) + ")";
  }
  out += ".</p>\n<div class=\"cards\">" + card(grouped(all.requests()), "requests") +
         card(grouped(all.denied()), "denied", all.denied() > 0) +
         card(percent(all.denied(), all.requests()), "of all requests", all.denied() > 0) +
         card(grouped(all.skipped()), "lines could not be read") + "</div>\n";
  out += "<h3>All requests over time</h3>\n" +
         figure([&](double width) { return traffic_figure(findings.profile->timeline(), width); });
  DeniedTable policies("policy", "all requests");
  for (const policy::Policy& policy : all.policies()) {
    policies.add(policy_name(policy), all.totals(policy.index).denied, all.requests());
  }
  policies.sort();
  return out + "<h3>By policy</h3>\n" + std::move(policies).done();
}

std::string paths(const TrafficProfile& profile) {
  const auto denied = profile.denied_paths(paths_shown_max);
  std::string out = "<h2>By path</h2>\n";
  if (denied.empty()) return out + "<p>No path was denied.</p>\n";
  DeniedTable table("path", "its requests");
  for (const PathTally& path : denied) {
    table.add(shown_key(path.path), path.tally.denied, path.tally.admitted + path.tally.denied);
  }
  const Tally& others = profile.other_paths();
  if (others.admitted + others.denied > 0) {
    table.add("<i>paths beyond the first " + grouped(TrafficProfile::paths_max) + "</i>",
              others.denied, others.admitted + others.denied);
  }
  return out + std::move(table).done();
}

std::string algorithms(const Findings& findings, const policy::Policy& policy) {
  DeniedTable table("algorithm", "all requests");
  bool any = false;
  for (const UnderAlgorithm& one : findings.algorithms) {
    if (one.policy != policy.index) continue;
    any = true;
    table.add("<code>" + text(one.algorithm) + "</code>", one.denied, findings.summary->requests());
  }
  if (!any) return {};
  return "<h3>The busiest window under each algorithm</h3>\n" + figure([&](double width) {
           return algorithms_figure(findings.algorithms, policy, width);
         }) +
         std::move(table).done();
}

std::string suggestion(const Findings& findings, const policy::Policy& policy) {
  for (const SuggestedQuotas& one : findings.suggestions) {
    if (one.policy != policy.index) continue;
    std::string out = "<h3>Quotas that would have denied almost no client</h3>\n<ul>";
    for (const std::string& line : one.lines) out += "<li>" + text(line) + "</li>";
    return out + "</ul>\n";
  }
  return {};
}

std::string policy_section(const Findings& findings, const policy::Policy& policy) {
  const Summary& summary = *findings.summary;
  const PolicyTotals totals = summary.totals(policy.index);
  std::string out = "<h2>Policy " + policy_name(policy) + "</h2>\n<p>" +
                    text(printed(policy_words(policy), 600)) + "</p>\n";
  if (totals.partitions == 0) {
    return out + (totals.denied_by_others
                      ? "<p>Other policies denied every request that came to it.</p>\n"
                      : "<p>No request came to it.</p>\n");
  }
  const bool enforced_denials = totals.partitions_denied > 0 && !policy.in_shadow();
  out += "<div class=\"cards\">" + card(grouped(totals.partitions), "partitions") +
         card(grouped(totals.partitions_denied),
              policy.in_shadow() ? "would have been denied at least once" : "denied at least once",
              enforced_denials) +
         card(percent(totals.partitions_denied, totals.partitions), "of all partitions",
              enforced_denials) +
         card(amount(totals.peak, policy.unit), "admitted to one in its busiest window") +
         "</div>\n";
  if (policy.terms.algorithm != limit::Algorithm::concurrency) {
    out += "<h3>What partitions ask for in their busiest window</h3>\n" +
           figure([&](double width) { return demand_figure(summary, policy.index, width); });
    out += algorithms(findings, policy);
  }
  out += suggestion(findings, policy);
  if (totals.partitions_denied == 0) return out + "<p>It denied nothing.</p>\n";
  DeniedTable table("partition", "its requests");
  for (const PartitionTotals& one : totals.top_denied) {
    table.add(shown_key(one.key), one.denied, one.admitted + one.denied);
  }
  return out + "<h3>The most denied partitions</h3>\n" + std::move(table).done();
}

std::string traces(const Findings& findings) {
  if (findings.traces.empty()) return {};
  std::string out =
      "<h2>Timelines of the most denied</h2>\n<p>Each from its first request to its last; mind "
      "that their times differ.</p>\n";
  for (const ClientTrace& trace : findings.traces) {
    const policy::Policy& policy = findings.summary->policies()[trace.policy];
    out += "<p>" + shown_key(trace.key) + ", policy " + policy_name(policy);
    if (trace.cut) out += ", its first " + grouped(ClientTrace::events_max) + " requests";
    out += "</p>" + figure([&](double width) { return client_trace_figure(trace, width); });
  }
  return out;
}

}  // namespace

std::vector<ClientTrace> most_denied(const Summary& summary) {
  struct Candidate {
    ClientTrace trace;
    std::uint64_t denied;
  };
  std::vector<Candidate> all;
  for (const policy::Policy& policy : summary.policies()) {
    for (const PartitionTotals& one : summary.totals(policy.index).top_denied) {
      all.push_back({{policy.index, std::string(one.key), {}, false}, one.denied});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.denied > b.denied; });
  std::vector<ClientTrace> traces;
  for (std::size_t i = 0; i < std::min(all.size(), traces_max); ++i) {
    traces.push_back(std::move(all[i].trace));
  }
  return traces;
}

std::string report_html(const Findings& findings) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>headgate "
      "simulate: ";
  out += text(printed(findings.config, key_shown_max)) + "</title>\n<style>" + std::string(style) +
         "</style>\n</head>\n<body><main>\n" + overview(findings);
  for (const policy::Policy& policy : findings.summary->policies()) {
    if (policy.mode != policy::Mode::off) out += policy_section(findings, policy);
  }
  out += paths(*findings.profile) + traces(findings);
  return out +
         "<footer>Made by headgate simulate. A partition is what a policy counts as one client; a "
         "window is any span of its length.</footer>\n</main></body>\n</html>\n";
}

}  // namespace headgate::sim
