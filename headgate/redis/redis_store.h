// The Store contract over Redis: limits that many machines share.
//
// Redis decides by its own clock, and its keys expire by themselves. docs/decisions/0017-redis.md
// describes the keys, the arithmetic and what is promised.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/redis/clock.h"
#include "headgate/redis/counts.h"
#include "headgate/redis/denials.h"
#include "headgate/redis/lease/lease_table.h"
#include "headgate/redis/options.h"
#include "headgate/store/store.h"

namespace headgate::redis {

class Worker;

struct RedisStatus {
  bool up = false;    // a server answers, or the first attempt to connect has not ended
  std::string fault;  // why the last undecided bundle was undecided; empty: there was none
};

// Thread-safe. One thread of its own does the work; completions are called by the mailbox that they
// name, or without one by that thread. It starts with the first call of take() or status(), so that
// a process may open the store and then fork. Redis need not be reachable when the store is opened.
class RedisStore : public store::Store {
 public:
  // The error is a sentence.
  [[nodiscard]] static Result<std::unique_ptr<RedisStore>, std::string> open(Options options);
  // Finishes what was handed over, so that a process that ends still settles its last requests, and
  // gives back what it took ahead. Waits for Redis for Options::patience() at most. REQUIRES: all
  // other calls have returned.
  ~RedisStore() override;

  using Store::take;
  // Redis' clock as far as it is known; before the first reply, this machine's.
  [[nodiscard]] Instant now() const noexcept override { return clock_.now(); }
  // Completes within Options::timeout (and a little: until the thread is scheduled). What is not
  // decided by then stays undecided, and may still be charged.
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override;

  // Decides a bundle whose charges are all leased, if the units are here or its denial is known.
  // Returns false if Redis has to decide.
  [[nodiscard]] bool take_at_once(store::Bundle& bundle) noexcept;

  // Of connections that are opened from now on; those that are open stay.
  void use_login(Login login) noexcept { options_.login.replace(std::move(login)); }

  // Does not wait for the thread. Throws std::bad_alloc, or std::system_error if no thread can be
  // started.
  [[nodiscard]] RedisStatus status();

 private:
  explicit RedisStore(Options options);

  // Starts the thread if it does not run. Throws std::bad_alloc or std::system_error.
  [[nodiscard]] Worker& worker();
  [[nodiscard]] bool deny_from_memory(store::Bundle& bundle);
  void forget_denials(const store::Bundle& bundle) noexcept;
  void ask_ahead(std::string_view key) noexcept;
  void count(std::atomic<std::uint64_t> RedisCounts::*counter) const noexcept;

  Options options_;  // never changes, but for the login
  KnownClock clock_;
  Denials denials_;
  LeaseTable leases_;
  std::once_flag started_;
  std::unique_ptr<Worker> worker_;  // null before
};

}  // namespace headgate::redis
