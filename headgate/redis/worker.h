// The thread that talks to Redis, and what other threads hand over to it.
#pragma once

#include <atomic>
#include <boost/system/system_error.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "headgate/redis/last_fault.h"
#include "headgate/redis/redis_store.h"
#include "headgate/redis/worker_loop.h"

namespace headgate::redis {

// In words, that a thread cannot be started, and why.
[[nodiscard]] std::string no_thread(const std::string& why);

// Thread-safe.
class Worker {
 public:
  // Starts the thread. All outlive this. Throws std::bad_alloc or std::system_error.
  Worker(const Options& options, KnownClock& clock, Denials& denials, LeaseTable& leases);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // As ~RedisStore().
  ~Worker();

  // As RedisStore::take(). Throws std::bad_alloc; then nothing was taken.
  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now, store::Completion done);
  // Takes more units of a leased key. Throws std::bad_alloc.
  void ask_ahead(std::string_view key);
  // As RedisStore::status().
  [[nodiscard]] RedisStatus status() const;

 private:
  class Use;

  void run() noexcept;
  // Returns false if there is no memory, or no thread: then what is unfinished was completed.
  [[nodiscard]] bool run_loop() noexcept;
  template <class Text>
  void note_failure(const Text& why) noexcept;
  [[nodiscard]] std::vector<std::shared_ptr<Taking>> take_new() noexcept;
  void complete_new() noexcept;
  [[nodiscard]] bool stops() noexcept;

  const Options& options_;
  KnownClock& clock_;
  LastFault fault_;
  const WorkerLoop::Shared shared_;

  // WorkerLoop::good_until(), as of the last event.
  std::atomic<Link::Time> good_until_{Link::Time::max()};

  std::mutex lock_;                             // of these
  std::vector<std::shared_ptr<Taking>> inbox_;  // from take() to WorkerLoop::begin_new()
  WorkerLoop* loop_ = nullptr;                  // null while there is none
  bool stops_ = false;

  std::thread thread_;
};

}  // namespace headgate::redis
