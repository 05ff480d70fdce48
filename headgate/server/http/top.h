// The busiest and the most denied partitions of the whole server at present.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/server/content.h"
#include "headgate/server/engine.h"
#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {

inline constexpr std::size_t top_length_default = 20;  // as many as a terminal shows
// Less than half of TopSketch::capacity: the lighter half of a sketch has large errors.
inline constexpr std::size_t top_length_max = 100;

// Adds up the recent rates of all workers. Each list has its `length` heaviest partitions, the
// heaviest first.
[[nodiscard]] DecisionStats::Recent top(const Engine& engine, Instant now,
                                        const PolicySnapshot& in_force, std::size_t length);

// Reads "" (top_length_default) or "n=20", up to top_length_max. Errors: a sentence.
[[nodiscard]] Result<std::size_t, std::string> parse_top_length(std::string_view query);

// GET /v1/top?n=20, described in docs/operations.md.
Content top_page(Engine& engine, WorkerContext& worker, std::string_view query);

}  // namespace headgate::server
