// A plot of a trace: the requests of each key, the decisions, and the units left between them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/lines.h"
#include "headgate/sim/report/svg.h"
#include "headgate/sim/trace.h"
#include "headgate/store/store.h"

namespace headgate::sim {

// With more lines or keys than this, a reader cannot distinguish them.
inline constexpr std::size_t plotted_lines_max = 100'000;
inline constexpr std::size_t plotted_keys_max = 16;

// Appends a file's lines, without the unreadable ones. The error says why the file cannot be read
// to its end.
[[nodiscard]] Result<void, std::string> read_trace(Lines& lines, std::vector<TraceLine>& trace);

// Returns one plot per policy and key, in the order of their first lines: requests as stacks of
// units, admitted or denied, the quota, and the units left as a line. Replays the trace in `store`,
// which must be empty, with peeks in between. The error says why it cannot be plotted: no lines,
// too many keys, or time goes backwards.
[[nodiscard]] Result<Figure, std::string> plot_trace(
    const std::shared_ptr<const policy::PolicySet>& policies, store::Store& store,
    std::span<const TraceLine> lines);

}  // namespace headgate::sim
