// A client's end of a connection in the same process, whose other end the code under test has: for
// tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "headgate/server/door.h"

namespace headgate::server {

// Not thread-safe: the test, the client and the code under test share a thread.
class ClientEnd {
 public:
  // `open` takes the other end, non-blocking as those that a worker accepts. `io` runs it.
  template <class Open>
  ClientEnd(boost::asio::io_context& io, Open open) : io_(io) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    fd_ = ends[0];
    Socket other(io, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
    other.non_blocking(true);
    open(std::move(other));
  }
  ClientEnd(boost::asio::io_context& io, Door& door)
      : ClientEnd(io, [&door](Socket end) { door.open(std::move(end)); }) {}
  ~ClientEnd() { close(fd_); }
  ClientEnd(const ClientEnd&) = delete;
  ClientEnd& operator=(const ClientEnd&) = delete;

  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Closes the client's own direction.
  void finish() const { shutdown(fd_, SHUT_WR); }
  // Whether the other end is closed, even if there are bytes to receive.
  [[nodiscard]] bool is_cut_off() const {
    pollfd end{fd_, 0, 0};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
  }

  // Returns what has come, and takes it.
  [[nodiscard]] std::string take() {
    std::string all;
    take_into(all);
    return all;
  }
  // Appends it to `all`.
  void take_into(std::string& all) {
    for (ssize_t got; (got = recv(fd_, room_.data(), room_.size(), 0)) > 0;) {
      all.append(room_.data(), static_cast<std::size_t>(got));
    }
  }
  // Waits for bytes and returns them; empty at the end. Runs the other end meanwhile. Allocates
  // nothing.
  [[nodiscard]] std::string_view receive() {
    for (;;) {
      const ssize_t got = recv(fd_, room_.data(), room_.size(), 0);
      if (got >= 0) return {room_.data(), static_cast<std::size_t>(got)};
      if (io_.stopped()) io_.restart();
      EXPECT_GT(io_.run_one(), 0u) << "nothing is left to do, and nothing has come";
    }
  }

 private:
  boost::asio::io_context& io_;
  int fd_ = -1;
  std::array<char, 65536> room_{};
};

}  // namespace headgate::server
