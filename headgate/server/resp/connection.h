// One connection of the RESP door: bytes in, replies out. Never blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/net/resp_reader.h"
#include "headgate/server/channel.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/resp/session.h"
#include "headgate/server/turn.h"

namespace headgate::server {

// When its socket is ready, the door calls receive() of all ready connections, flushes its
// throttles, and then calls reply() of each. So the decisions of several clients are batched, and
// their replies are sent one right after the other, which wakes a client with several connections
// less often.
class RespConnection {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives this. Throws std::bad_alloc, and
  // then does not own `fd`. `resume` as ConnectionList passes it.
  RespConnection(int fd, RespDoorContext& door, Resume resume)
      : channel_(fd, door.credentials.now().tls.get(), door.unsent),
        door_(door),
        session_(door),
        waiting_(door.worker.answers(), resume),
        reader_(door.words) {}

  // Reads at most once, into `shared` or its own memory, and answers whole commands until the turn
  // is over. Appends to `replies`, at the latest when the door's throttles are flushed.
  void receive(std::span<char> shared, std::string& replies, const Turn& turn);

  // Sends `replies`, or the ones that were left unsent before. Returns what it needs next: output
  // if the client does not read its replies; until it does, its input is not read. An answer if
  // many of them wait for the store.
  Need reply(std::string& replies);

  // For ConnectionList:
  [[nodiscard]] int fd() const noexcept { return channel_.fd(); }
  [[nodiscard]] bool is_established() const noexcept { return channel_.is_established(); }
  [[nodiscard]] bool has_received() const noexcept { return channel_.has_received(); }
  [[nodiscard]] bool is_trusted() const noexcept {
    return session_.is_trusted() && channel_.is_established();
  }
  [[nodiscard]] bool is_idle() const noexcept {
    return phase_ == Phase::serving && !channel_.has_unsent() && input_.pending().empty() &&
           waiting_.is_empty();
  }
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  [[nodiscard]] Turn::Clock::time_point answers_at() const noexcept { return *answers_at_; }

 private:
  enum class Phase : std::uint8_t {
    serving,
    closing,    // sends the last replies; no more commands follow
    lingering,  // all is sent; discards input, so that the close does not reset the connection
    gone,       // the client has closed
  };

  void answer(std::string_view bytes, std::string& replies, const Turn& turn);
  void take_ready(std::string& replies);
  void delay();
  Need linger();

  Channel channel_;
  RespDoorContext& door_;
  RespSession session_;
  WaitingReplies waiting_;
  net::RespReader reader_;
  InputBuffer input_;
  unsigned wrong_tokens_ = 0;
  std::optional<Turn::Clock::time_point> answers_at_;  // when the replies may be sent
  Phase phase_ = Phase::serving;
  bool moved_ = false;  // the last turn answered a command, or sent all unsent replies
  bool more_ = false;   // the pending input may contain whole commands, for another turn
  bool alone_ = false;  // ... and that turn is for the first of them, which takes long
};

}  // namespace headgate::server
