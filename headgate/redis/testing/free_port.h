// For tests: ports of loopback for servers that cannot choose one themselves.
#pragma once

#include <cstdint>

namespace headgate::redis {

// A port at which nothing listens, and neither 10000 above it, where a node of a cluster talks to
// others. Not one of those that the system gives to clients.
[[nodiscard]] std::uint16_t free_port();

}  // namespace headgate::redis
