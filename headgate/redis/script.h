// The script that Redis runs: take.lua, embedded by CMake.
#pragma once

#include <string_view>

namespace headgate::redis {

[[nodiscard]] std::string_view take_script() noexcept;

}  // namespace headgate::redis
