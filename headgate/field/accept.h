// Whether a client accepts problem details (Accept: RFC 9110, section 12.5.1).
#pragma once

#include <span>
#include <string_view>

namespace headgate::field {

// Whether the Accept field admits application/problem+json: the most specific range that is present
// must have a weight above 0. From the most specific on, the ranges are application/problem+json,
// application/json, application/* and */*; if one is repeated, its greatest weight counts.
// application/json is among them because a problem document is JSON, and most clients that accept
// JSON do not list application/problem+json.
//
// Returns true if there are no lines or no well-formed range in them. Ignores parameters other than
// q and elements that are not media ranges. Linear time; no allocation.
[[nodiscard]] bool accepts_problem_json(std::span<const std::string_view> accept_lines) noexcept;

[[nodiscard]] inline bool accepts_problem_json(std::string_view accept) noexcept {
  return accepts_problem_json(std::span(&accept, 1));
}

}  // namespace headgate::field
