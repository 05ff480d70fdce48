// Problem details (RFC 9457) of a denial, with the types that the RateLimit draft registers.
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

// Writes the document: type, title, status (the response's own) and violated-policies, the names
// in the order given. The text is ASCII and valid JSON for any names: what JSON cannot hold as it
// is, and every byte above 0x7e, is written as \u00xx, the byte's value. False, and nothing
// written, if it does not fit. No allocation.
[[nodiscard]] bool write_problem(Writer& out, Problem problem, unsigned status,
                                 std::span<const std::string_view> violated_policies) noexcept;

}  // namespace headgate::field
