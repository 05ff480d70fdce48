// Reads a law from text, as the commands of Redis' module take it.
//
//   100/1m                                    100 units per minute, under the linear law
//   20/500ms,refill=40/1s                     a token bucket
//   fixed-window:5000/1d,aligned,offset=6h    another algorithm, and its terms
//   concurrency:10,lease=30s                  has no window
#pragma once

#include <string_view>

#include "headgate/base/result.h"
#include "headgate/limit/law.h"

namespace headgate::redis {

// Error: what is wrong, as "the window is no duration; expected ...". Never allocates.
[[nodiscard]] Result<limit::Law, std::string_view> read_law(std::string_view text) noexcept;

}  // namespace headgate::redis
