// Calls of CL.THROTTLE and THROTTLE, several at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headgate/server/resp/throttle_call.h"
#include "headgate/server/resp/throttle_limits.h"
#include "headgate/server/worker_context.h"
#include "headgate/store/store.h"

namespace headgate::server {

// Calls wait to be decided together: the table then asks memory for what all of them need before it
// decides the first one. Not thread-safe. Does not allocate once warm.
class ThrottleBatch {
 public:
  explicit ThrottleBatch(WorkerContext& worker);

  // Takes one call of five or six words, the command's name first. Its reply is appended to
  // `replies`, in the order of the calls, at the latest by flush().
  void ask(ThrottleDialect dialect, std::span<const std::string_view> words, std::string& replies);

  // Decides what waits and appends the replies.
  void flush() {
    if (waiting_ > 0) decide();
  }

 private:
  static constexpr std::size_t calls_max = 16;

  struct Waiting {
    ThrottleCall call;
    const ThrottleLimit* limit;
    std::string* replies;
    std::size_t key_begin;  // in keys_
    std::size_t key_size;
  };

  void decide();

  WorkerContext& worker_;
  ThrottleLimits limits_;
  std::size_t waiting_ = 0;
  std::array<Waiting, calls_max> calls_;
  std::array<store::Charge, calls_max> charges_;
  std::array<limit::Decision, calls_max> decisions_;
  std::array<store::Bundle, calls_max> bundles_;
  std::string keys_;  // of what waits, one behind the other
};

}  // namespace headgate::server
