// What a response says about rate limits, in words.
#pragma once

#include <cstdint>
#include <string>

#include "headgate/cli/explain/header_section.h"

namespace headgate::cli {

// Each field that has to do with rate limits: what it means, or where it is malformed, and whether
// it counts. Then what counts, and how long to wait. `now`: the local clock [Unix seconds], from
// which moments count if the response has no Date.
[[nodiscard]] std::string explanation(const HeaderSection& section, std::int64_t now);

}  // namespace headgate::cli
