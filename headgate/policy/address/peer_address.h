// Reads an address with its port, as programs name their peers.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/policy/address/address.h"

namespace headgate::policy {

// Returns the address of "10.0.0.2", "10.0.0.2:4711" or "[2001:db8::1]:443", and that of a
// neighbour with its zone, "[fe80::1%eth0]:443". An IPv4 address may be in brackets, too, and the
// port may be missing. Returns std::nullopt for any other text, such as "2001:db8::1", whose last
// group could be a port.
[[nodiscard]] std::optional<Address> peer_address(std::string_view text) noexcept;

}  // namespace headgate::policy
