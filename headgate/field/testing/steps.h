// For steps_test: counts the work of the code under test, independently of time.
#pragma once

#include <cstddef>

namespace headgate::field {

// The number of basic blocks executed so far.
[[nodiscard]] std::size_t steps() noexcept;

}  // namespace headgate::field
