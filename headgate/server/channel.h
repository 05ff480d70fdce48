// The socket of one connection, with the replies that its client has not received yet.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/net/tls.h"
#include "headgate/server/ready_set.h"

namespace headgate::server {

// Non-blocking. Not thread-safe.
class Channel {
 public:
  // After this many bytes, replies are sent before further requests are answered. So a
  // client that does not read has at most this many, and one more reply, in our memory. Enough for
  // 50 decisions: the system call that sends them costs little beside them.
  static constexpr std::size_t together = std::size_t{16} << 10;

  // Unsent replies of all channels that share this [bytes]. The door of one worker has one.
  struct Unsent {
    // What clients that do not read may cost. A reply is usually less than 1 KiB, and a client that
    // reads leaves nothing unsent, so this is enough for thousands of slow ones.
    static constexpr std::size_t most = std::size_t{64} << 20;

    std::size_t bytes = 0;
  };

  // Owns `fd`, a non-blocking stream socket, through which it speaks TLS if that is given and the
  // socket is TCP: no other machine reaches a Unix socket. `protocol` as TlsContext::accept() takes
  // it. `unsent` outlives this. Throws std::bad_alloc, and then does not own `fd`.
  Channel(int fd, const net::TlsContext* tls, Unsent& unsent, const char* protocol = nullptr);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Whether the client is the one that it says, if TLS requires that of it.
  [[nodiscard]] bool is_established() const noexcept { return !tls_ || tls_->established(); }

  // As recv(): the number of bytes, 0 at the end, -1 with errno. The handshake of TLS is part of
  // it.
  [[nodiscard]] ssize_t receive(std::span<char> room) noexcept;
  // Whether receive() has ever returned bytes.
  [[nodiscard]] bool has_received() const noexcept { return has_received_; }
  // What the next receive() waits for.
  [[nodiscard]] Need need() const noexcept;

  // Sends what the socket takes now, and keeps the rest, to be sent by flush(). Returns false if
  // the connection is to be closed: the client is gone, or too much is unsent. Called only if
  // nothing is unsent. May throw std::bad_alloc.
  [[nodiscard]] bool send(std::string_view bytes);
  // The same, but sends nothing now.
  [[nodiscard]] bool hold(std::string_view bytes);
  // The same for what is unsent.
  [[nodiscard]] bool flush();
  [[nodiscard]] bool has_unsent() const noexcept { return !rest_.empty(); }

  // Sends that no more bytes follow. Returns false if the connection is to be closed.
  [[nodiscard]] bool end() noexcept;

 private:
  // Returns how many bytes were sent, or -1 if the client is gone.
  [[nodiscard]] ssize_t try_to_send(std::string_view bytes) noexcept;

  int fd_;
  std::optional<net::TlsStream> tls_;
  Unsent& unsent_;
  std::string rest_;
  std::size_t rest_at_ = 0;  // how much of rest_ is sent
  bool has_received_ = false;
};

}  // namespace headgate::server
