// What happened at one policy.
#pragma once

#include <atomic>
#include <cstdint>

namespace headgate::gate {

// As it is counted. May lie in memory that processes share. A cache line of its own: processors
// that count at other policies, or in other shards, are left alone.
struct alignas(64) PolicyCounts {
  std::atomic<std::uint64_t> admitted{0};        // requests that it charged
  std::atomic<std::uint64_t> denied{0};          // requests that it denied
  std::atomic<std::uint64_t> shadow_denied{0};   // ... would have denied, were it enforced
  std::atomic<std::uint64_t> refunded{0};        // requests whose cost was given back
  std::atomic<std::uint64_t> cost_defaulted{0};  // ... whose cost was not to be found out
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// As it is told: plain numbers, added up over whoever counted.
struct PolicyTotals {
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t shadow_denied = 0;
  std::uint64_t refunded = 0;
  std::uint64_t cost_defaulted = 0;

  PolicyTotals& operator+=(const PolicyCounts& counts) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    admitted += counts.admitted.load(relaxed);
    denied += counts.denied.load(relaxed);
    shadow_denied += counts.shadow_denied.load(relaxed);
    refunded += counts.refunded.load(relaxed);
    cost_defaulted += counts.cost_defaulted.load(relaxed);
    return *this;
  }
};

}  // namespace headgate::gate
