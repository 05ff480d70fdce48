// GET /v1/top: the busiest and the most denied partitions of all workers at present.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/view/labels.h"
#include "headgate/view/page.h"
#include "headgate/view/recent.h"

namespace headgate::view {

inline constexpr std::size_t top_length_default = 20;  // as many as a terminal shows
// Less than half of TopSketch::capacity: the lighter half of a sketch has large errors.
inline constexpr std::size_t top_length_max = 100;

// Reads "" (top_length_default) or "n=20", up to top_length_max. Errors: a sentence.
[[nodiscard]] Result<std::size_t, std::string> parse_top_length(std::string_view query);

// Described in docs/operations.md. `recent` has the parts of all workers; `redis_up` is absent if
// the policy file has no Redis. Status 400 if the query is malformed. Throws std::bad_alloc.
[[nodiscard]] Page top_page(std::string_view query, Recent recent, const Labels& in_force,
                            std::optional<bool> redis_up);

}  // namespace headgate::view
