// For steps_test: how much work the code under test has done, by any clock but time.
#pragma once

#include <cstddef>

namespace headgate::field {

// Basic blocks run so far.
[[nodiscard]] std::size_t steps() noexcept;

}  // namespace headgate::field
