// Reading durations in the form of Go: 6m0s, 12ms, 1h30m, 1.5s.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::field {

// Reads one or more numbers, each with a unit (ns, us, ms, s, m or h; the micro sign is read too),
// and returns their sum, rounded up to nanoseconds. A number may begin or end with its point, and
// the text with a plus sign. Saturates above 999,999,999,999,999 s, the greatest number of a field.
// Returns std::nullopt for any other text, such as a minus sign or a number without unit. No
// allocation; linear time.
[[nodiscard]] std::optional<Nanos> parse_go_duration(std::string_view text) noexcept;

}  // namespace headgate::field
