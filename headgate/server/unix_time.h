// The wall clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace headgate::server {

// The Unix time [s].
[[nodiscard]] inline std::uint64_t unix_now() noexcept {
  return static_cast<std::uint64_t>(std::time(nullptr));
}

}  // namespace headgate::server
