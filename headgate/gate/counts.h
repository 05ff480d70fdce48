// What happened at one policy. May lie in memory that processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace headgate::gate {

struct PolicyCounts {
  std::atomic<std::uint64_t> admitted{0};        // requests that it charged
  std::atomic<std::uint64_t> denied{0};          // requests that it denied
  std::atomic<std::uint64_t> shadow_denied{0};   // ... would have denied, were it enforced
  std::atomic<std::uint64_t> refunded{0};        // requests whose cost was given back
  std::atomic<std::uint64_t> cost_defaulted{0};  // ... whose cost was not to be found out
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace headgate::gate
