// Waits until some of many sockets are ready.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace headgate::server {

// The event that a connection waits for.
enum class Need : std::uint8_t {
  input,
  output,
  end,      // the end of the connection in both directions
  nothing,  // none: the connection is to be closed
};

// An own epoll instance, which Asio watches as one descriptor. So one wait returns all sockets that
// are ready, and no socket costs a system call to be waited for again.
class ReadySet {
 public:
  // The most sockets in one call of `serve`, which batches their decisions. Bounds how long the
  // first reply waits for the last request.
  static constexpr std::size_t together_max = 64;
  // The `who` of sockets that are ready, each once.
  using Ready = std::span<void* const>;

  // Calls `serve` with some of the sockets that are ready; it may close them. The io_context has
  // work until close().
  ReadySet(boost::asio::io_context& io, std::function<void(Ready who)> serve);

  // Waits for input of a non-blocking socket until the socket is closed. `who` is passed to
  // `serve`. Returns false if the system cannot watch more sockets.
  [[nodiscard]] bool add(int fd, void* who) noexcept;
  // From now on waits for this event instead.
  void watch(int fd, void* who, Need need) noexcept;
  // Stops waiting for a socket that has other open descriptors. (A close of the last one suffices.)
  void remove(int fd) noexcept;

  // Serves the sockets that are ready, until none is ready or this many were served: each socket
  // once before any socket twice.
  void serve_ready(std::size_t most = most_in_turn);

  void close() noexcept;

 private:
  // After this many, the other handlers of the io_context (timers, accepts) run: at about 10 us per
  // socket they wait 5 ms at most.
  static constexpr std::size_t most_in_turn = 512;

  void watch();

  boost::asio::posix::stream_descriptor epoll_;
  std::function<void(Ready)> serve_;
};

}  // namespace headgate::server
