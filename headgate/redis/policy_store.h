// The store of a policy file with `store: {redis: ...}`.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "headgate/base/result.h"
#include "headgate/policy/settings.h"
#include "headgate/redis/counts.h"
#include "headgate/redis/redis_store.h"
#include "headgate/store/shared_store.h"

namespace headgate::redis {

// Redis for the policies that machines share; the table for all others, and for outages.
// Thread-safe. May be opened before a fork, and used after it.
class PolicyStore final : public store::Store {
 public:
  // Logs a line when an outage begins (a fault) and when it is over. Called by a thread that takes.
  // Must not throw.
  using Log = std::function<void(bool is_fault, const std::string& line)>;

  // Reads the files that the settings name. Redis need not be reachable. `table` and `counts`
  // outlive this. The error is a sentence.
  [[nodiscard]] static Result<std::unique_ptr<PolicyStore>, std::string> open(
      const policy::RedisSettings& settings, store::Store& table, RedisCounts& counts, Log log);

  // As ~RedisStore(). REQUIRES: all other calls have returned.
  ~PolicyStore() override { is_closing_.store(true); }

  using Store::take;
  [[nodiscard]] Instant now() const noexcept override { return shared_.now(); }
  void prefetch(std::span<store::Charge> charges) noexcept override { shared_.prefetch(charges); }
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override;

  // Reads the password and the certificates again, for connections that are opened from now on. The
  // error is a sentence; then nothing has changed. REQUIRES: the settings of open().
  [[nodiscard]] Result<void, std::string> renew_login(const policy::RedisSettings& settings);

  // As RedisStore::status().
  [[nodiscard]] RedisStatus status() { return redis_->status(); }

 private:
  PolicyStore(std::unique_ptr<RedisStore> redis, store::Store& table, Log log);

  void outage_changed(bool begins) noexcept;

  const Log log_;
  std::atomic<bool> is_closing_{false};
  std::atomic<std::chrono::steady_clock::rep> began_{0};  // when the outage began
  store::SharedStore shared_;
  // Ends first, because it completes what is unfinished.
  const std::unique_ptr<RedisStore> redis_;
};

}  // namespace headgate::redis
