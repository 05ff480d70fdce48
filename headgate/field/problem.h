// Writing problem details (RFC 9457) of a denial, with the types that the RateLimit draft
// registers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headgate/base/writer.h"

namespace headgate::field {

inline constexpr std::string_view problem_media_type = "application/problem+json";

enum class Problem : std::uint8_t {
  quota_exceeded,
  temporary_reduced_capacity,
  abnormal_usage_detected,
};

// Writes the document: type, title, status (that of the response) and violated-policies, which are
// the names in the order given. The text is ASCII and valid JSON for any names: control characters
// and bytes above 0x7e are written as \u00xx, where xx is the byte. Returns false and writes
// nothing if the text does not fit. No allocation.
[[nodiscard]] bool write_problem(Writer& out, Problem problem, unsigned status,
                                 std::span<const std::string_view> violated_policies) noexcept;

}  // namespace headgate::field
