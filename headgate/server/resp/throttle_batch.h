// Decides calls of CL.THROTTLE and THROTTLE in batches.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headgate/redis/throttle/throttle_call.h"
#include "headgate/redis/throttle/throttle_limits.h"
#include "headgate/server/resp/waiting_replies.h"
#include "headgate/server/worker_context.h"
#include "headgate/store/store.h"

namespace headgate::server {

// Collects calls and decides them together: the table prefetches the memory of all of them before
// it decides the first one. If the store's answers come later, each call is taken by itself; the
// store can send them together. Not thread-safe. With a store that completes at once, does not
// allocate once its buffers have grown.
class ThrottleBatch {
 public:
  explicit ThrottleBatch(WorkerContext& worker);

  // Adds one call of five or six words, the command's name first. Appends its reply to `replies`,
  // in the order of the calls, at the latest in flush(); `replies` must stay until then. Or adds it
  // to `waiting`, whose end `replies` is.
  void add(redis::ThrottleDialect dialect, std::span<const std::string_view> words,
           std::string& replies, WaitingReplies& waiting);

  // Decides the waiting calls and appends their replies.
  void flush() {
    if (waiting_ > 0) decide();
  }

 private:
  // As many as a processor has cache misses in flight (10 to 16): more prefetches would wait.
  static constexpr std::size_t calls_max = 16;

  struct Waiting {
    redis::ThrottleCall call;
    const redis::ThrottleLimit* limit;
    std::string* replies;
    std::size_t key_begin;  // in keys_
    std::size_t key_size;
  };

  void decide();
  void decide_alone(const redis::ThrottleCall& call, const redis::ThrottleLimit& limit,
                    std::string_view key, std::string& replies, WaitingReplies& waiting);

  WorkerContext& worker_;
  redis::ThrottleLimits limits_;
  std::size_t waiting_ = 0;
  std::array<Waiting, calls_max> calls_;
  std::array<store::Charge, calls_max> charges_;
  std::array<limit::Decision, calls_max> decisions_;
  std::array<store::Bundle, calls_max> bundles_;
  std::string keys_;  // of the waiting calls, one behind the other
};

}  // namespace headgate::server
