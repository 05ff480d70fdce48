// One connection of the gRPC door: its socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/server/envoy/grpc_door_context.h"
#include "headgate/server/envoy/grpc_session.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/ready_set.h"

namespace headgate::server {

// Never blocks. A connection that has sent nothing has no buffers and no session.
class GrpcConnection {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives this.
  GrpcConnection(int fd, GrpcDoorContext& door) noexcept : fd_(fd), door_(door) {}
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  // Called when the socket is ready for what was needed: reads or sends what it can without
  // waiting, and returns what it needs next. Need::nothing: close the connection.
  [[nodiscard]] Need serve() noexcept;

  // Called once per second: ends calls that take too long, and pings clients that only watch.
  // Returns what it needs next.
  [[nodiscard]] Need tick() noexcept;

  // Answers only calls that the client has sent before it knows that the server stops. Returns what
  // it needs next.
  [[nodiscard]] Need stop() noexcept;

  // For ConnectionList:
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool is_idle() const noexcept {
    return session_ && session_->is_idle() && unsent_.empty() && !lingers_;
  }
  [[nodiscard]] bool moved() const noexcept { return moved_; }

 private:
  template <class Act>
  [[nodiscard]] Need attempt(const Act& act) noexcept;

  [[nodiscard]] Need read();
  [[nodiscard]] Need take_input(std::string_view bytes);
  [[nodiscard]] bool send(std::string_view bytes);
  [[nodiscard]] Need send_unsent();
  [[nodiscard]] Need linger() noexcept;

  int fd_;
  GrpcDoorContext& door_;
  std::optional<GrpcSession> session_;  // since the first byte
  InputBuffer input_;                   // what is taken when unsent_ was sent
  std::string unsent_;                  // frames that the client has not received yet
  bool moved_ = false;                  // the last turn ended a call, or sent all that was unsent
  std::size_t discarded_ = 0;           // bytes of input, since it lingers
  bool lingers_ = false;  // all is sent; discards input, so that the close does not reset
};

}  // namespace headgate::server
