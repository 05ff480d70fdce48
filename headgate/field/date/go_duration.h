// Durations as Go prints them: 6m0s, 12ms, 1h30m, 1.5s.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::field {

// One or more numbers, each with a unit (ns, us, ms, s, m or h; the micro sign is read too), added
// up; what is below a nanosecond is rounded up. Saturates beyond what a field can tell. Nothing if
// the text is something else: a sign, a number without unit. No allocation; linear.
[[nodiscard]] std::optional<Nanos> parse_go_duration(std::string_view text) noexcept;

}  // namespace headgate::field
