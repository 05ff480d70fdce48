// The state that all doors of one decision server share: the store, the policies in force, the
// workers' contexts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/file/load.h"
#include "headgate/policy/live/kept_overrides.h"
#include "headgate/redis/policy_store.h"
#include "headgate/server/decision_log.h"
#include "headgate/server/policy_snapshot.h"
#include "headgate/server/unix_time.h"
#include "headgate/store/table.h"

namespace headgate::server {

class WorkerContext;

// Makes the store that decides, over the table. Returns nullptr if that is the table itself.
using MakeStore = std::function<std::unique_ptr<store::Store>(store::Table& table)>;

struct EngineOptions {
  // Keeps the overrides that are made while the server runs. Empty: FILE.overrides, where FILE is
  // the table's; without a table's file, there is none, and no such override.
  std::string overrides_file{};
  MakeStore make_store{};  // for tests
};

// Thread-safe. Outlives every WorkerContext.
class Engine {
 public:
  // Loads the policy file and opens the store that it describes. Errors: sentences for people.
  [[nodiscard]] static Result<std::unique_ptr<Engine>, std::vector<std::string>> open(
      const std::string& config, const EngineOptions& options = {});

  [[nodiscard]] store::Table& table() noexcept { return *table_; }
  // The store that decides.
  [[nodiscard]] store::Store& store() noexcept { return store_ ? *store_ : *table_; }
  // nullptr: the policy file has no Redis.
  [[nodiscard]] redis::PolicyStore* redis() noexcept { return redis_; }
  [[nodiscard]] const redis::RedisCounts& redis_counts() const noexcept { return redis_counts_; }
  [[nodiscard]] const std::string& config() const noexcept { return config_; }

  [[nodiscard]] DecisionLog& decision_log() noexcept { return decision_log_; }
  [[nodiscard]] const DecisionLog& decision_log() const noexcept { return decision_log_; }
  // Opens the decision log of the policies in force, again if it is open.
  void open_decision_log();

  // The policies in force. A worker keeps its pointer and calls this again when number() changes.
  [[nodiscard]] std::shared_ptr<const PolicySnapshot> in_force() const;
  [[nodiscard]] std::uint64_t number() const noexcept {
    return number_.load(std::memory_order_acquire);
  }

  // Reads the policy file again. Errors: the file's faults, or that it asks for another table or
  // Redis than those in use; then the policies in force stay, as they do if this throws
  // std::bad_alloc. The store and the overrides stay in any case.
  [[nodiscard]] Result<void, std::vector<std::string>> reload();
  [[nodiscard]] std::uint64_t reloads() const noexcept {
    return reloads_.load(std::memory_order_relaxed);
  }
  // Unix times [s]; the last reload is the start if there was none.
  [[nodiscard]] std::uint64_t started() const noexcept { return started_; }
  [[nodiscard]] std::uint64_t last_reload() const noexcept {
    return last_reload_.load(std::memory_order_relaxed);
  }
  // Of the policy file, and those that were counted by count_refused_reload().
  [[nodiscard]] std::uint64_t refused_reloads() const noexcept {
    return refused_reloads_.load(std::memory_order_relaxed);
  }

  // Overrides that are made while the server runs. `now` is the Unix time [s].

  // The file that keeps them, or "".
  [[nodiscard]] const std::string& overrides_file() const noexcept { return overrides_.path(); }
  // Makes an override, or replaces the one of the same partition. It is kept and in force when this
  // returns. Blocks for the time of a write to the disk.
  [[nodiscard]] Result<void, policy::OverrideRefusal> set_override(
      const policy::LiveOverride& override, std::uint64_t now);
  // Returns what was removed, or std::nullopt if there was none. Blocks like set_override().
  [[nodiscard]] Result<std::optional<policy::LiveOverride>, policy::OverrideRefusal>
  remove_override(std::string_view policy, std::string_view key, std::uint64_t now);
  // Follows what other processes have changed in the file, and ends the overrides whose time has
  // come. Logs both. To be called about once per second. Throws std::bad_alloc; the next call then
  // does what is left.
  void follow_overrides(std::uint64_t now);
  // How often that file had faults when it was read.
  [[nodiscard]] std::uint64_t refused_override_files() const noexcept {
    return refused_override_files_.load(std::memory_order_relaxed);
  }

  // For files that are not the engine's.
  void count_refused_reload() noexcept { refused_reloads_.fetch_add(1, std::memory_order_relaxed); }

  // Calls `see` for each worker, one after the other. No worker can end during the call.
  void for_each_worker(const std::function<void(const WorkerContext&)>& see) const;

 private:
  friend class WorkerContext;

  Engine(std::string config, std::unique_ptr<store::Table> table, std::string overrides_file)
      : config_(std::move(config)),
        table_(std::move(table)),
        overrides_(std::move(overrides_file),
                   "this server has no file that keeps overrides; expected headgate serve "
                   "--overrides-file FILE, or a policy file with store: {table: {file: FILE}}") {}
  [[nodiscard]] std::shared_ptr<const PolicySnapshot> snapshot(
      std::shared_ptr<const policy::PolicySet> policies, PolicySnapshot::Numbers numbers);
  void put_in_force(std::shared_ptr<const PolicySnapshot> next) noexcept;
  void follow_changes();
  [[nodiscard]] Result<std::shared_ptr<const policy::PolicySet>, std::vector<std::string>> load();
  void add(const WorkerContext& worker);
  void remove(const WorkerContext& worker) noexcept;

  std::string config_;
  DecisionLog decision_log_;
  std::unique_ptr<store::Table> table_;
  redis::RedisCounts redis_counts_;
  std::unique_ptr<store::Store> store_;  // null: the table
  redis::PolicyStore* redis_ = nullptr;  // `store_`, if it is one
  // Held during a reload, so that of two the later one's file is in force; guards what the table
  // and Redis were opened with. Before `change_mutex_`.
  std::mutex reload_mutex_;
  policy::TableSettings table_settings_;
  std::optional<policy::RedisSettings> redis_settings_;
  // Held while the policies or the overrides change; guards the members up to `mutex_`.
  std::mutex change_mutex_;
  std::shared_ptr<const policy::PolicySet> policies_;  // of the policy file alone
  policy::KeptOverrides overrides_;
  std::uint64_t changes_in_force_ = 0;  // overrides_.changes() of those in force
  mutable std::mutex mutex_;
  std::shared_ptr<const PolicySnapshot> in_force_;
  std::atomic<std::uint64_t> number_{1};
  std::uint64_t started_ = unix_now();
  std::atomic<std::uint64_t> last_reload_{started_};
  std::atomic<std::uint64_t> reloads_{0};
  std::atomic<std::uint64_t> refused_reloads_{0};
  std::atomic<std::uint64_t> refused_override_files_{0};
  mutable std::mutex workers_mutex_;
  std::vector<const WorkerContext*> workers_;
};

}  // namespace headgate::server
