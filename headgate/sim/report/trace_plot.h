// A picture of a trace: what was asked of each key, what became of it, and what was left in
// between.
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

// What a reader can still tell apart.
inline constexpr std::size_t plotted_lines_max = 100'000;
inline constexpr std::size_t plotted_keys_max = 16;

// Appends a file's lines. Those that can't be read are left out; the error says why no more can.
[[nodiscard]] Result<void, std::string> read_trace(Lines& lines, std::vector<TraceLine>& trace);

// One plot for each policy and key that is asked, in the order of their first questions: requests
// as stacks of units, admitted or denied, below the quota, and the units left as a line. Replays
// the trace in `store`, which must be empty, and looks in between. The error says why there can be
// no such picture: no lines, too many keys, or time goes backwards.
[[nodiscard]] Result<Figure, std::string> plot_trace(
    const std::shared_ptr<const policy::PolicySet>& policies, store::Store& store,
    std::span<const TraceLine> lines);

}  // namespace headgate::sim
