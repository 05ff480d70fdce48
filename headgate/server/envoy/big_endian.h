// Numbers as HTTP/2 and gRPC send them.
#pragma once

#include <array>
#include <cstdint>

namespace headgate::server {

// Returns the bytes of a number, the highest one first.
[[nodiscard]] constexpr std::array<char, 4> big_endian(std::uint32_t number) noexcept {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

}  // namespace headgate::server
