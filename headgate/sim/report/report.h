// The page that `headgate simulate --report` writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/sim/report/traffic_profile.h"
#include "headgate/sim/summary.h"

namespace headgate::sim {

// What one policy would have done under another algorithm, everything else as it is.
struct UnderAlgorithm {
  std::size_t policy = 0;
  std::string algorithm;
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t peak = 0;  // units admitted to one partition in its busiest window
};

// All that the page shows. The summary has measured what was offered.
struct Findings {
  std::string logs;    // for people, what was replayed
  std::string config;  // the policy file
  const Summary* summary = nullptr;
  const TrafficProfile* profile = nullptr;
  std::vector<UnderAlgorithm> algorithms;
  std::vector<ClientTrace> traces;  // of the most denied partitions, the most denied first
};

// How many partitions have their timeline shown.
inline constexpr std::size_t traces_max = 6;

// Which partitions were denied most, over all policies: their traces, still to be told.
[[nodiscard]] std::vector<ClientTrace> most_denied(const Summary& summary);

// One HTML page, complete in itself: no scripts, and nothing that is loaded from anywhere.
[[nodiscard]] std::string report_html(const Findings& findings);

}  // namespace headgate::sim
