// The ends of a connection.
#pragma once

#include <optional>
#include <string>

#include "headgate/policy/address/address.h"

namespace headgate::server {

// The address of the other end. Returns std::nullopt if the socket is not connected over TCP, or no
// longer: the other end has reset the connection.
[[nodiscard]] std::optional<policy::Address> peer_of(int fd) noexcept;

// Whether the socket is of TCP, connected or not, and not a Unix socket.
[[nodiscard]] bool is_tcp(int fd) noexcept;

// The other end in words, for the log: its address, if it can be told. Throws std::bad_alloc.
[[nodiscard]] std::string peer_text(int fd);

// The port of this end of a TCP connection; 0 if there is none.
[[nodiscard]] unsigned local_port_of(int fd) noexcept;

}  // namespace headgate::server
