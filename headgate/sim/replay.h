// Replays trace files line by line.
#pragma once

#include <ostream>
#include <string>

#include "headgate/base/result.h"
#include "headgate/sim/log/complaints.h"
#include "headgate/sim/log/lines.h"
#include "headgate/sim/simulator.h"

namespace headgate::sim {

// Applies every line of `lines` in its order; `name` is the file's name in complaints. A line that
// cannot be read (also an empty one) is skipped and counted; the first such lines are reported to
// `complain`. `decisions`, if not null, gets one line of JSON per line: {"error": "..."} for a
// skipped one; ends when that fails. The error says why reading stopped before the end.
[[nodiscard]] Result<void, std::string> replay_trace(Lines& lines, const std::string& name,
                                                     Simulator& simulator, std::ostream* decisions,
                                                     const Complain& complain);

}  // namespace headgate::sim
