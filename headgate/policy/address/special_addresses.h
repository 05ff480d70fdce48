// Addresses that belong to nobody in particular.
#pragma once

#include "headgate/policy/address/address.h"

namespace headgate::policy {

// Whether a block has addresses in common with IANA's special-purpose address registries (RFC 6890,
// as of 2025) or with multicast: private, loopback, documentation and the like.
[[nodiscard]] bool is_special(const AddressBlock& block) noexcept;

}  // namespace headgate::policy
