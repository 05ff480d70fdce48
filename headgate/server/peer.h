// The address of a connection's other end.
#pragma once

#include <optional>

#include "headgate/policy/address/address.h"

namespace headgate::server {

// Returns std::nullopt if the socket is not connected over TCP.
[[nodiscard]] std::optional<policy::Address> peer_of(int fd) noexcept;

}  // namespace headgate::server
