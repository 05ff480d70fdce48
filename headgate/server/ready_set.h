// Which of many sockets are ready.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace headgate::server {

enum class Need : std::uint8_t {
  input,
  output,
  end,      // of the connection, in both directions
  nothing,  // the socket is of no use any more
};

// An epoll of its own, which Asio watches as one descriptor: so one wait tells of all sockets that
// are ready, and none of them costs a system call for waiting again.
class ReadySet {
 public:
  // Of one call: who was ready, each once.
  static constexpr std::size_t together_max = 64;
  using Ready = std::span<void* const>;

  // `serve` is called with some of those that are ready, and may close their sockets. The
  // io_context has work until close().
  ReadySet(boost::asio::io_context& io, std::function<void(Ready who)> serve);

  // Waits for input of a non-blocking socket, until it is closed. False: that is not possible.
  [[nodiscard]] bool add(int fd, void* who) noexcept;
  // From now on for input, for output or for the end.
  void watch(int fd, void* who, Need need) noexcept;
  // Waits no more, though the socket has other descriptors.
  void remove(int fd) noexcept;

  // Serves those that are ready, until none is or this many have been served: everyone once before
  // anyone twice.
  void serve_ready(std::size_t most = most_in_turn);

  void close() noexcept;

 private:
  static constexpr std::size_t most_in_turn = 512;  // before others of this thread have theirs

  void watch();

  boost::asio::posix::stream_descriptor epoll_;
  std::function<void(Ready)> serve_;
};

}  // namespace headgate::server
