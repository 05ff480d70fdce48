// Writing RateLimit in the form of draft-07: a Dictionary with one limit.
#pragma once

#include <cstdint>

#include "headgate/base/writer.h"

namespace headgate::field {

// Writes `limit=100, remaining=50, reset=30`. Numbers above 999,999,999,999,999 are lowered to it.
// Returns false and writes nothing if the text does not fit. No allocation.
[[nodiscard]] bool write_draft_07(Writer& out, std::uint64_t limit, std::uint64_t remaining,
                                  std::uint64_t reset) noexcept;

}  // namespace headgate::field
