// For tests: what this test binary allocates.
#pragma once

#include <cstddef>

namespace headgate::field {

// Calls of operator new by this thread so far.
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace headgate::field
