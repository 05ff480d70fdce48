// One client's connection: bytes in, replies out. Never blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headgate/net/resp_reader.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/resp_session.h"

namespace headgate::server {

// What the connections of one thread share: memory that each uses for a moment.
struct RespBuffers {
  std::span<char> input;
  std::string replies;
};

class RespConnection {
 public:
  // Owns `fd`, a non-blocking stream socket. Desk and buffers outlive it.
  RespConnection(int fd, RespDesk& desk, RespBuffers& buffers) noexcept
      : fd_(fd), buffers_(buffers), session_(desk) {}
  ~RespConnection();
  RespConnection(const RespConnection&) = delete;
  RespConnection& operator=(const RespConnection&) = delete;

  enum class Need : std::uint8_t {
    input,
    output,  // the client does not read its replies: until it does, nothing is read of it
    nothing  // it is done, and may go
  };

  // To be called when what it needs is there. Reads at most once and answers all that is whole.
  // Returns what it needs next.
  Need go_on();

  // Whether go_on() has got anything done: a command answered, or all owed replies sent.
  [[nodiscard]] bool moved() const noexcept { return moved_; }

  // Whether nothing is owed on either side: no reply, and no end of a command.
  [[nodiscard]] bool at_rest() const noexcept {
    return phase_ == Phase::serving && unsent_.empty() && input_.pending().empty();
  }

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  enum class Phase : std::uint8_t {
    serving,
    closing,   // sends what it owes
    lingering  // has sent all; what still comes is thrown away, since a close would take it back
  };

  Need receive();
  Need serve(std::string_view bytes);
  bool answer(std::string_view& bytes);
  bool send(std::string_view bytes);
  Need linger();

  int fd_;
  RespBuffers& buffers_;
  RespSession session_;
  net::RespReader reader_;
  InputBuffer input_;
  std::string unsent_;  // replies
  Phase phase_ = Phase::serving;
  bool moved_ = false;
};

}  // namespace headgate::server
