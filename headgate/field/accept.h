// Whether a client wants problem details (Accept: RFC 9110, section 12.5.1).
#pragma once

#include <span>
#include <string_view>

namespace headgate::field {

// Whether the Accept field admits application/problem+json. The most specific range that matches
// decides, by having a weight above 0: application/problem+json, else application/json, else
// application/*, else */*; of equal ranges the greatest weight counts. application/json is among
// them because a problem document is JSON, and clients that ask for JSON rarely name it.
//
// No lines, or no well-formed range in them: anything goes, so true. Parameters other than q are
// ignored, so are elements that are not media ranges. Linear; no allocation.
[[nodiscard]] bool accepts_problem_json(std::span<const std::string_view> accept_lines) noexcept;

[[nodiscard]] inline bool accepts_problem_json(std::string_view accept) noexcept {
  return accepts_problem_json(std::span(&accept, 1));
}

}  // namespace headgate::field
