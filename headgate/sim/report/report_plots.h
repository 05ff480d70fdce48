// The figures of the report.
#pragma once

#include <span>

#include "headgate/sim/report/report.h"
#include "headgate/sim/report/svg.h"
#include "headgate/sim/report/traffic_profile.h"

namespace headgate::sim {

// Admitted and denied requests over time. `width` [px], for every figure here.
[[nodiscard]] Figure traffic_figure(const Timeline& timeline, double width);

// The units that each partition requested in its busiest window, compared with the quota.
[[nodiscard]] Figure demand_figure(const Summary& summary, std::size_t policy, double width);

// Units admitted to one partition in its busiest window, and denials, per algorithm.
[[nodiscard]] Figure algorithms_figure(std::span<const UnderAlgorithm> all,
                                       const policy::Policy& policy, double width);

// When one partition was admitted and denied.
[[nodiscard]] Figure client_trace_figure(const ClientTrace& trace, double width);

}  // namespace headgate::sim
