// Counts of what a RedisStore does.
#pragma once

#include <atomic>
#include <cstdint>

namespace headgate::redis {

// May lie in memory that processes share.
struct RedisCounts {
  std::atomic<std::uint64_t> round_trips{0};  // replies of servers to what was asked
  std::atomic<std::uint64_t> timeouts{0};     // calls that were not answered in time
  std::atomic<std::uint64_t> remembered{0};   // bundles denied without asking a server
  std::atomic<std::uint64_t> leased{0};       // bundles decided from what was taken ahead
};

}  // namespace headgate::redis
