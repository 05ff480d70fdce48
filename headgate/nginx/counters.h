// Counters that every worker of one nginx shares, and that a reload passes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/gate/counters.h"

namespace headgate::nginx {

// Counts beside those of single policies.
struct ModuleCounts {
  std::atomic<std::uint64_t> reloads{0};                  // configurations taken over while running
  std::atomic<std::uint64_t> refused_reloads{0};          // policy files refused while running
  std::atomic<std::uint64_t> fields_left_out{0};          // own fields that could not be written
  std::atomic<std::uint64_t> upstream_fields_dropped{0};  // malformed, or stale from a cache
};

// open() belongs to the process that forks the workers; everything else is thread-safe.
class Counters {
 public:
  // `previous` may be null; it is left as it is, for the reload may yet be refused.
  // Throws std::bad_alloc if there is no memory to share.
  [[nodiscard]] static std::shared_ptr<Counters> open(std::vector<std::string> names,
                                                      const std::shared_ptr<Counters>& previous);

  // Of policies, as Gate takes them. Shared between processes.
  [[nodiscard]] std::span<gate::PolicyCounts> shards() const noexcept {
    return policies_->shards();
  }
  [[nodiscard]] ModuleCounts& module() const noexcept { return *module_; }

  [[nodiscard]] gate::PolicyTotals totals(std::string_view name) const noexcept {
    return policies_->totals(name);
  }

 private:
  std::shared_ptr<gate::Counters> policies_;
  std::shared_ptr<ModuleCounts> module_;
};

}  // namespace headgate::nginx
