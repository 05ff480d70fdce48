// Counters that all workers of one nginx share, and that reloads keep.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/gate/counters.h"
#include "headgate/nginx/policy_file.h"
#include "headgate/redis/counts.h"

namespace headgate::nginx {

// The counts that belong to no policy.
struct ModuleCounts {
  explicit ModuleCounts(std::uint64_t now) : started(now), last_reload(now) {}

  std::uint64_t started;                   // Unix time [s]
  std::atomic<std::uint64_t> last_reload;  // Unix time [s]; `started` if there was none
  std::atomic<std::uint64_t> reloads{0};   // new configurations since the start
  PolicyFile policy_file;                  // of the last reload; written before it is counted
  std::atomic<std::uint64_t> refused_reloads{0};      // whatever was at fault
  std::atomic<std::uint64_t> tables_changed{0};       // reloads after which quotas were full
  std::atomic<std::uint64_t> refused_connections{0};  // headgate_connections_per_address
  std::atomic<std::uint64_t> fields_left_out{0};      // headgate's fields that could not be written
  std::atomic<std::uint64_t> upstream_fields_dropped{0};  // malformed, or from a cache and stale
  std::atomic<std::uint64_t> decision_lines_dropped{0};   // the decision log did not take them
  std::atomic<std::uint64_t> override_changes{0};         // those of one of the workers
  std::atomic<std::uint64_t> refused_override_files{0};   // with faults, when they were read
  std::atomic<std::uint64_t> wrong_tokens{0};             // of administrators
  redis::RedisCounts redis;
};

// open() is for the process that forks the workers; everything else is thread-safe.
class Counters {
 public:
  // Continues the counts of `previous`, which may be null. Does not change it, because the reload
  // may still be refused. Throws std::bad_alloc if there is no shared memory.
  [[nodiscard]] static std::shared_ptr<Counters> open(std::vector<std::string> names,
                                                      const std::shared_ptr<Counters>& previous);

  // The counts of policies in the form that Gate takes. Shared between processes.
  [[nodiscard]] std::span<gate::PolicyCounts> shards() const noexcept {
    return policies_->shards();
  }
  [[nodiscard]] ModuleCounts& module() const noexcept { return *module_; }

  [[nodiscard]] gate::PolicyTotals totals(std::string_view name) const noexcept {
    return policies_->totals(name);
  }
  [[nodiscard]] gate::PolicyTotals requests() const noexcept { return policies_->requests(); }

 private:
  std::shared_ptr<gate::Counters> policies_;
  std::shared_ptr<ModuleCounts> module_;
};

}  // namespace headgate::nginx
