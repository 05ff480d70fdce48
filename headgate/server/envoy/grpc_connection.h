// One connection of the gRPC door: its socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/server/channel.h"
#include "headgate/server/envoy/grpc_door_context.h"
#include "headgate/server/envoy/grpc_session.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/turn.h"

namespace headgate::server {

// Never blocks. A connection that has sent nothing has no buffers and no session.
class GrpcConnection {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives this. Throws std::bad_alloc, and
  // then does not own `fd`. `resume` as ConnectionList passes it.
  GrpcConnection(int fd, GrpcDoorContext& door, Resume resume);
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  // Called when the socket is ready for what was needed, or after `resume`: reads or sends what it
  // can without waiting, until the turn is over, and returns what it needs next. Need::nothing:
  // close the connection.
  [[nodiscard]] Need serve(Turn& turn) noexcept;

  // Called once per second: ends calls that take too long, refuses those that have shown a wrong
  // token, and pings clients that only watch.
  // Returns what it needs next, or std::nullopt if nothing has changed.
  [[nodiscard]] std::optional<Need> tick() noexcept;

  // Answers only calls that the client has sent before it knows that the server stops. Returns what
  // it needs next, or std::nullopt if nothing has changed.
  [[nodiscard]] std::optional<Need> stop() noexcept;

  // For ConnectionList:
  [[nodiscard]] int fd() const noexcept { return channel_.fd(); }
  [[nodiscard]] bool is_established() const noexcept { return channel_.is_established(); }
  [[nodiscard]] bool has_received() const noexcept { return channel_.has_received(); }
  [[nodiscard]] bool is_trusted() const noexcept {
    return channel_.is_established() && (session_ ? session_->is_trusted() : needs_no_token_);
  }
  [[nodiscard]] bool is_idle() const noexcept {
    return session_ && session_->is_idle() && !channel_.has_unsent() && !lingers_;
  }
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  [[nodiscard]] Turn::Clock::time_point answers_at() const noexcept { return *answers_at_; }

 private:
  template <class Act>
  auto attempt(const Act& act) noexcept -> decltype(act());

  [[nodiscard]] Need read(Turn& turn);
  [[nodiscard]] Need take_input(std::string_view bytes, Turn& turn);
  [[nodiscard]] bool count_wrong_tokens();
  [[nodiscard]] bool has_more() const noexcept;
  [[nodiscard]] Need go_on();

  Channel channel_;
  GrpcDoorContext& door_;
  const Resume resume_;
  const bool needs_no_token_;
  std::optional<GrpcSession> session_;                 // since the first byte
  InputBuffer input_;                                  // what is left for another turn
  unsigned wrong_tokens_ = 0;                          // that were counted
  std::optional<Turn::Clock::time_point> answers_at_;  // when the frames may be sent
  std::size_t discarded_ = 0;                          // bytes of input, since it lingers
  bool sends_no_more_ = false;                         // the client, which may still read
  bool moved_ = false;    // the last turn ended a call, or sent all that was unsent
  bool lingers_ = false;  // all is sent; discards input, so that the close does not reset
};

}  // namespace headgate::server
