// The store of a policy file with `store: {redis: ...}`.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
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
  // Logs a line when an outage begins (a fault), when its reason is another one (a fault, at most
  // each 10 s), and when it is over. Called by a thread that takes. Must not throw.
  using Log = std::function<void(bool is_fault, const std::string& line)>;
  using Time = std::chrono::steady_clock::time_point;
  using Clock = Time (*)() noexcept;

  // Reads the files that the settings name. Redis need not be reachable. `table` and `counts`
  // outlive this. `clock`: how long an outage lasts. The error is a sentence.
  [[nodiscard]] static Result<std::unique_ptr<PolicyStore>, std::string> open(
      const policy::RedisSettings& settings, store::Store& table, RedisCounts& counts, Log log,
      Clock clock = std::chrono::steady_clock::now);

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
  PolicyStore(std::unique_ptr<RedisStore> redis, store::Store& table, Log log, Clock clock);

  void outage_changed(bool begins) noexcept;
  void outage_continues() noexcept;

  const Log log_;
  const Clock clock_;
  std::atomic<bool> is_closing_{false};
  std::atomic<Time> next_look_{Time::max()};  // when the reason of the outage is looked at again
  std::mutex outage_lock_;                    // also keeps the lines in order
  Time began_;                                // of the outage
  std::string reason_;                        // of the outage, as the log has it
  store::SharedStore shared_;
  // Ends first, because it completes what is unfinished.
  const std::unique_ptr<RedisStore> redis_;
};

}  // namespace headgate::redis
