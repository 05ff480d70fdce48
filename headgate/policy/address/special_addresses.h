// Addresses that IANA reserves: no client on the Internet has one of them.
#pragma once

#include "headgate/policy/address/address.h"

namespace headgate::policy {

// Returns whether the block has addresses in common with multicast or with IANA's special-purpose
// address registries (RFC 6890, as of 2025): private, loopback, documentation and similar blocks.
[[nodiscard]] bool is_special(const AddressBlock& block) noexcept;

}  // namespace headgate::policy
