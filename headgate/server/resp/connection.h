// One client's connection: bytes in, replies out. Never blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headgate/net/resp_reader.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/resp/session.h"

namespace headgate::server {

// When what it needs is there, hear() is called, then the door's throttles are flushed, and then
// tell() is called: so the decisions of several clients are made together, and their replies leave
// one right after the other, which wakes those who wait for them less often.
class RespConnection {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives it.
  RespConnection(int fd, RespDoorContext& door) noexcept : fd_(fd), door_(door), session_(door) {}
  ~RespConnection();
  RespConnection(const RespConnection&) = delete;
  RespConnection& operator=(const RespConnection&) = delete;

  // Reads at most once, perhaps into `room`, and answers what is whole. Appends to `replies`, at
  // the latest when the door's throttles are flushed.
  void hear(std::span<char> room, std::string& replies);

  // Sends these replies, or what is owed. Returns what it needs next: output, if the client does
  // not read its replies; until it does, nothing is read of it.
  Need tell(std::string& replies);

  // Whether the last call of both has got anything done: a command answered, or all that was owed
  // sent.
  [[nodiscard]] bool moved() const noexcept { return moved_; }

  // Whether nothing is owed on either side: no reply, and no end of a command.
  [[nodiscard]] bool at_rest() const noexcept {
    return phase_ == Phase::serving && unsent_.empty() && input_.pending().empty();
  }

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  enum class Phase : std::uint8_t {
    serving,
    closing,    // sends what it owes
    lingering,  // has sent all; what still comes is thrown away, since a close would take it back
    gone,
  };

  void answer(std::string_view bytes, std::string& replies);
  bool send(std::string_view bytes);
  Need linger();

  int fd_;
  RespDoorContext& door_;
  RespSession session_;
  net::RespReader reader_;
  InputBuffer input_;
  std::string unsent_;  // replies
  Phase phase_ = Phase::serving;
  bool moved_ = false;
  bool more_ = false;  // whole commands may be pending that were not answered yet
};

}  // namespace headgate::server
