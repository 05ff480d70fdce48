// For tests: counts the allocations of a test binary that links headgate_allocations.
#pragma once

#include <cstddef>

namespace headgate {

// The number of calls of operator new by this thread so far.
[[nodiscard]] std::size_t allocations() noexcept;

// The bytes that those calls asked for.
[[nodiscard]] std::size_t allocated_bytes() noexcept;

}  // namespace headgate
