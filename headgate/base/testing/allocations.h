// For tests: what the test binary that links headgate_allocations allocates.
#pragma once

#include <cstddef>

namespace headgate {

// Calls of operator new by this thread so far.
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace headgate
