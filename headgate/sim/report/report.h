// The page that `headgate simulate --report` writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/sim/report/traffic_profile.h"
#include "headgate/sim/summary.h"

namespace headgate::sim {

// The result of one policy under another algorithm, with everything else unchanged.
struct UnderAlgorithm {
  std::size_t policy = 0;
  std::string algorithm;
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t peak = 0;  // units admitted to one partition in its busiest window
};

// Quotas that would have denied almost no client.
struct SuggestedQuotas {
  std::size_t policy = 0;
  std::vector<std::string> lines;
};

// All data of the page. The summary has measured Measure::all.
struct Findings {
  std::string logs;    // the names of the replayed logs, for people
  std::string config;  // that of the policy file
  const Summary* summary = nullptr;
  const TrafficProfile* profile = nullptr;
  std::vector<UnderAlgorithm> algorithms;
  std::vector<ClientTrace> traces;  // of the most denied partitions, the most denied first
  std::vector<SuggestedQuotas> suggestions;
};

// How many partitions have a timeline: what fits a page without scrolling far.
inline constexpr std::size_t traces_max = 6;

// Returns empty traces of the partitions that were denied most, over all policies.
[[nodiscard]] std::vector<ClientTrace> most_denied(const Summary& summary);

// Returns one self-contained HTML page: without scripts, and without anything to load.
[[nodiscard]] std::string report_html(const Findings& findings);

}  // namespace headgate::sim
