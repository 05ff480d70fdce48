// Counts of the decisions of one policy, or of all requests.
#pragma once

#include <atomic>
#include <cstdint>

namespace headgate::gate {

// The counters, which may lie in memory that processes share. One cache line, so that processors
// that count other policies, or in other shards, do not contend for it. The same structure counts
// requests by their verdict, however many policies decided each; then only the first three are
// used.
struct alignas(64) PolicyCounts {
  std::atomic<std::uint64_t> admitted{0};  // requests that it charged
  std::atomic<std::uint64_t> denied{0};    // requests that it denied
  std::atomic<std::uint64_t> shadow_denied{
      0};                                  // requests that it would have denied if it were enforced
  std::atomic<std::uint64_t> refunded{0};  // requests whose cost was given back
  std::atomic<std::uint64_t> cost_defaulted{0};  // requests whose cost was missing or malformed
  std::atomic<std::uint64_t> outage{0};    // requests decided without the store that machines share
  std::atomic<std::uint64_t> delayed{0};   // requests that it let wait
  std::atomic<std::uint64_t> estimate{0};  // in the first shard: the state of an Estimate
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The same as plain numbers, summed over shards and processes.
struct PolicyTotals {
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t shadow_denied = 0;
  std::uint64_t refunded = 0;
  std::uint64_t cost_defaulted = 0;
  std::uint64_t outage = 0;
  std::uint64_t delayed = 0;

  PolicyTotals& operator+=(const PolicyCounts& counts) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    admitted += counts.admitted.load(relaxed);
    denied += counts.denied.load(relaxed);
    shadow_denied += counts.shadow_denied.load(relaxed);
    refunded += counts.refunded.load(relaxed);
    cost_defaulted += counts.cost_defaulted.load(relaxed);
    outage += counts.outage.load(relaxed);
    delayed += counts.delayed.load(relaxed);
    return *this;
  }
};

}  // namespace headgate::gate
