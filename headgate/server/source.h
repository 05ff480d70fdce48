// Where a connection comes from: what strangers share is divided by it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headgate/base/siphash.h"

namespace headgate::server {

// The same for all connections of one IPv4 address, and of one /64 network of IPv6, of which one
// client may have all addresses. Source 0 also has all Unix sockets, and the TCP connections whose
// client has reset them already.
using Source = std::uint8_t;
inline constexpr std::size_t source_count = 256;

// The secret decides which addresses share a source, so that no client can choose with whom.
[[nodiscard]] Source source_of(int fd, const HashSecret& secret) noexcept;

}  // namespace headgate::server
