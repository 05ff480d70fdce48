// What a response says about rate limits, as text.
#pragma once

#include <cstdint>
#include <string>

#include "headgate/cli/explain/header_section.h"

namespace headgate::cli {

// Returns for each field about rate limits: what it means, or where it is malformed, and whether it
// is used. Then the limits in force, and how long to wait. `now`: the local clock [Unix seconds],
// which replaces the response's Date if it has none.
[[nodiscard]] std::string explanation(const HeaderSection& section, std::int64_t now);

}  // namespace headgate::cli
