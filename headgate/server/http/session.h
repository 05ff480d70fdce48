// One connection of the HTTP door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/gate/waiting.h"
#include "headgate/server/channel.h"
#include "headgate/server/http/caller.h"
#include "headgate/server/http/door_context.h"
#include "headgate/server/http/exchange.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/turn.h"

namespace headgate::server {

// Reads requests and answers them in order; answers to requests that arrive together are sent
// together. A connection that waits for a request has no buffers.
class HttpSession {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives this. Throws std::bad_alloc, and
  // then does not own `fd`. `resume` as ConnectionList passes it.
  HttpSession(int fd, HttpDoorContext& door, Resume resume);

  // Called when the socket is ready for what was needed, or after `resume`: until the turn is over,
  // reads or sends what it can without waiting, and returns what it needs next. Need::nothing:
  // close the connection.
  [[nodiscard]] Need serve(Turn& turn) noexcept;

  // From now on answers only requests that have begun to arrive, then returns Need::nothing.
  void stop() noexcept { stops_ = true; }

  // For ConnectionList:
  [[nodiscard]] int fd() const noexcept { return channel_.fd(); }
  [[nodiscard]] bool is_established() const noexcept { return channel_.is_established(); }
  [[nodiscard]] bool has_received() const noexcept { return channel_.has_received(); }
  [[nodiscard]] bool is_trusted() const noexcept { return is_known() && channel_.is_established(); }
  [[nodiscard]] bool is_idle() const noexcept { return phase_ == Phase::idle; }
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  [[nodiscard]] Turn::Clock::time_point answers_at() const noexcept { return *caller_.answers_at; }

 private:
  enum class Phase : std::uint8_t {
    idle,       // waits for a request
    reading,    // waits for the rest of one
    deciding,   // waits for the store
    writing,    // waits until the client reads its answers
    lingering,  // all is sent; discards input, so that the close does not reset the connection
  };

  [[nodiscard]] bool is_known() const noexcept {
    return door_.credentials.now().knows(caller_.shown_token);
  }
  void enter(Phase phase) noexcept;
  [[nodiscard]] Need read(Turn& turn);
  [[nodiscard]] Need take_input(std::string_view bytes, Turn& turn);
  std::size_t answer_all(std::string_view bytes, const Turn& turn);
  bool answer_one(std::string_view bytes);
  void wait_for_own_turn();
  void refuse_malformed();
  void finish_pending();
  [[nodiscard]] Need go_on();
  [[nodiscard]] HttpReply reply(bool keeps_alive);
  void hold(HttpReply& reply) noexcept;
  [[nodiscard]] Exchange exchange(HttpReply& reply);

  Channel channel_;
  HttpDoorContext& door_;
  HttpCaller caller_;
  const Resume resume_;
  Phase phase_ = Phase::idle;
  bool moved_ = false;         // the last serve() ended a phase or answered a request
  bool stops_ = false;         // answers no request that has not begun
  bool ends_ = false;          // the answers so far are the last ones
  bool unread_ = false;        // ... and the rest of the input is discarded
  bool paused_ = false;        // the rest of the input is answered in another turn
  bool alone_ = false;         // ... which is for the first request of it, since that takes long
  bool head_checked_ = false;  // refuse() has seen the head of the request

  std::unique_ptr<HttpParser> parser_;  // of a request that has begun
  InputBuffer input_;                   // the bytes that are not answered yet
  std::optional<HttpPending> pending_;  // the request before them
  gate::Waiting waiting_;               // the request whose answer is held back
};

}  // namespace headgate::server
