// The script that Redis runs: lease/lease.lua and take.lua as one, embedded by CMake.
#pragma once

#include <string_view>

namespace headgate::redis {

[[nodiscard]] std::string_view take_script() noexcept;

}  // namespace headgate::redis
