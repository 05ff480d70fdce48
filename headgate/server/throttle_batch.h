// Calls of CL.THROTTLE and THROTTLE, several at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headgate/net/resp_writer.h"
#include "headgate/server/station.h"
#include "headgate/server/throttle_call.h"
#include "headgate/server/throttle_limits.h"
#include "headgate/store/store.h"

namespace headgate::server {

// The calls of one pipeline wait to be decided together: the table then asks memory for what all of
// them need before it decides the first one. Not thread-safe. Does not allocate once warm.
class ThrottleBatch {
 public:
  explicit ThrottleBatch(Station& station);

  // Takes one call of five or six words, the command's name first. Every call gets one reply, in
  // the order of the calls, at the latest from flush().
  void ask(ThrottleDialect dialect, std::span<const std::string_view> words, net::RespWriter& out);

  // Decides what waits and writes the replies.
  void flush(net::RespWriter& out) {
    if (waiting_ > 0) decide(out);
  }

 private:
  static constexpr std::size_t calls_max = 16;

  struct Waiting {
    ThrottleCall call;
    const ThrottleLimit* limit;
    std::size_t key_begin;  // in keys_
  };

  void decide(net::RespWriter& out);

  Station& station_;
  ThrottleLimits limits_;
  std::size_t waiting_ = 0;
  std::array<Waiting, calls_max> calls_;
  std::array<limit::Charge, calls_max> charges_;
  std::array<limit::Decision, calls_max> decisions_;
  std::array<store::Bundle, calls_max> bundles_;
  std::string keys_;  // one behind the other
};

}  // namespace headgate::server
