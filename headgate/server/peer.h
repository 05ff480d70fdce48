// The ends of a connection.
#pragma once

#include <optional>
#include <string>

#include "headgate/policy/address/address.h"

namespace headgate::server {

// The address of the other end. Returns std::nullopt if the socket is not connected over TCP.
[[nodiscard]] std::optional<policy::Address> peer_of(int fd) noexcept;

// The address of the other end in words, for the log. Throws std::bad_alloc.
[[nodiscard]] std::string peer_text(int fd);

// The port of this end of a TCP connection; 0 if there is none.
[[nodiscard]] unsigned local_port_of(int fd) noexcept;

}  // namespace headgate::server
