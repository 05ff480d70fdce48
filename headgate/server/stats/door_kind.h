// The kinds of doors that a decision server has.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headgate::server {

enum class DoorKind : std::uint8_t { http, resp, grpc, spoe };

inline constexpr std::array<std::string_view, 4> door_names = {"http", "resp", "grpc", "spoe"};

[[nodiscard]] constexpr std::string_view name(DoorKind kind) noexcept {
  return door_names[static_cast<std::size_t>(kind)];
}

}  // namespace headgate::server
