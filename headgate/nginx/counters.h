// Counters that every worker of one nginx shares, and that a reload passes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/gate/gate.h"

namespace headgate::nginx {

// Counts beside those of single policies.
struct ModuleCounts {
  std::atomic<std::uint64_t> reloads{0};                  // configurations taken over while running
  std::atomic<std::uint64_t> refused_reloads{0};          // policy files refused while running
  std::atomic<std::uint64_t> fields_left_out{0};          // own fields that could not be written
  std::atomic<std::uint64_t> upstream_fields_dropped{0};  // malformed, or stale from a cache
};

struct PolicyTotals {
  std::uint64_t admitted = 0;
  std::uint64_t denied = 0;
  std::uint64_t shadow_denied = 0;
  std::uint64_t refunded = 0;
  std::uint64_t cost_defaulted = 0;
};

// The counters of the policies in force. After a reload that changed the policies the workers
// before it may still be finishing requests, so counters come in generations, and totals() adds up
// what every generation counted under a name. A reload with the same policies goes on with its own.
//
// open() belongs to the process that forks the workers; everything else is thread-safe.
class Counters {
 public:
  // `previous` may be null; it is left as it is, for the reload may yet be refused.
  // Throws std::bad_alloc if there is no memory to share.
  [[nodiscard]] static std::shared_ptr<Counters> open(std::vector<std::string> names,
                                                      const std::shared_ptr<Counters>& previous);

  // One per policy, in the order of their names. Shared between processes.
  [[nodiscard]] std::span<gate::PolicyCounts> policies() const noexcept;
  [[nodiscard]] ModuleCounts& module() const noexcept { return *module_; }

  [[nodiscard]] PolicyTotals totals(std::string_view name) const noexcept;

 private:
  struct Generation;
  static constexpr std::size_t generations_max = 16;  // older ones are folded into the newest

  std::shared_ptr<ModuleCounts> module_;
  std::vector<std::shared_ptr<Generation>> generations_;  // newest first, at least one
};

}  // namespace headgate::nginx
