// The busiest and most denied partitions of a whole server, about now.
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

inline constexpr std::size_t top_length_default = 20;
inline constexpr std::size_t top_length_max = 100;

// What all workers have seen, added up; the `length` first of each list, the heaviest first.
[[nodiscard]] DecisionStats::Recent top(const Engine& engine, Instant now,
                                        const PolicySnapshot& in_force, std::size_t length);

// "" or "n=20", up to top_length_max. Errors: a sentence.
[[nodiscard]] Result<std::size_t, std::string> parse_top_length(std::string_view query);

// GET /v1/top?n=20, described in docs/operations.md.
Content top_page(Engine& engine, WorkerContext& worker, std::string_view query);

}  // namespace headgate::server
