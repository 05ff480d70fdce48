// Replays trace files line by line.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/sim/lines.h"
#include "headgate/sim/simulator.h"

namespace headgate::sim {

// How many unreadable lines of one file are told in words; the rest are only counted.
inline constexpr std::size_t complaints_max = 5;

// Takes one message for people, such as "FILE:LINE: what is wrong, and what was expected".
using Complain = std::function<void(const std::string&)>;

// Whether a file's first line looks like a trace's: it opens a JSON object.
[[nodiscard]] bool looks_like_trace(std::string_view line);

// Applies every line of `lines` in its order; `name` stands for the file in complaints. A line that
// can't be read (also an empty one) is skipped, counted, and among the first ones complained about.
// `decisions`, if any, gets one line of JSON per line: {"error": "..."} for a skipped one.
// The error says why reading stopped midway.
[[nodiscard]] Result<void, std::string> replay_trace(Lines& lines, const std::string& name,
                                                     Simulator& simulator, std::ostream* decisions,
                                                     const Complain& complain);

// One line of the decisions file, without its end; `several` adds the results.
[[nodiscard]] std::string decision_json(const Answers& answers, bool several);

}  // namespace headgate::sim
