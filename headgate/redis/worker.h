// The thread that talks to Redis, and what other threads hand over to it.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "headgate/redis/clock.h"
#include "headgate/redis/denials.h"
#include "headgate/redis/exact.h"
#include "headgate/redis/lease/leasing.h"
#include "headgate/redis/options.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/router.h"
#include "headgate/redis/taking.h"

namespace headgate::redis {

// Thread-safe.
class Worker {
 public:
  // Starts the thread. All outlive this. Throws std::bad_alloc or std::system_error.
  Worker(const Options& options, KnownClock& clock, Denials& denials, LeaseTable& leases);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Completes what is unfinished. REQUIRES: all other calls have returned.
  ~Worker();

  // As RedisStore::take(). Throws std::bad_alloc; then nothing was taken.
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now, store::Completion done);
  // Takes more units of a leased key. Throws std::bad_alloc.
  void ask_ahead(std::string_view key);
  // As RedisStore::status().
  [[nodiscard]] RedisStatus status() const;

 private:
  void run();
  void publish() noexcept;
  void begin_new();
  void watch_deadlines();

  const Options& options_;
  KnownClock& clock_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Router router_;
  Exact exact_;
  Leasing leasing_;
  const Taking::Deciders deciders_;

  // Router::good_until(), as of the last event.
  std::atomic<Link::Time> good_until_{Link::Time::max()};

  std::mutex inbox_lock_;
  std::vector<std::shared_ptr<Taking>> inbox_;  // from take() to begin_new()

  // Of the thread. In the order of their deadlines.
  std::deque<std::shared_ptr<Taking>> begun_;
  boost::asio::steady_timer deadline_timer_;
  bool is_watching_ = false;

  std::thread thread_;
};

}  // namespace headgate::redis
