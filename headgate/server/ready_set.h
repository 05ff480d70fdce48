// Waits until some of many sockets are ready.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "headgate/server/fair_line.h"
#include "headgate/server/handler_memory.h"

namespace headgate::server {

// The event that a connection waits for.
enum class Need : std::uint8_t {
  input,
  output,
  turn,     // none: it has input left, and lets the others go first
  pause,    // the time at which its reply may be sent
  answer,   // the store's answer, and of the socket only its end
  end,      // the end of the connection in both directions
  nothing,  // none: the connection is to be closed
};

// An own epoll instance, which Asio watches as one descriptor. So one wait returns all sockets that
// are ready, and no socket costs a system call to be waited for again.
//
// Sockets that have just become ready come first. After each wait for them, one connection of each
// queue has its turn: in the backlog the first, of the newcomers one of each source in turn. So a
// client with one short request never waits for the backlog of others, and a newcomer not for a
// flood from elsewhere.
class ReadySet {
 public:
  enum class Queue : std::uint8_t { backlog, newcomers };

  // A connection's place in a queue.
  using Place = FairLine::Place;
  using Places = FairLine::Places;

  // The most sockets in one call of `serve`, which batches their decisions. Bounds how long the
  // first reply waits for the last request.
  static constexpr std::size_t together_max = 64;
  // The `who` of sockets that are ready, each once.
  using Ready = std::span<void* const>;

  // Calls `arrived` with some of the sockets that are ready, and `serve` for one that was queued;
  // both may close them. The io_context has work until close().
  ReadySet(boost::asio::io_context& io, std::function<void(Ready who)> arrived,
           std::function<void(void* who)> serve);

  // Waits for input of a non-blocking socket until the socket is closed. `who` is passed to
  // `arrived`. Returns false if the system cannot watch more sockets.
  [[nodiscard]] bool add(int fd, void* who) noexcept;
  // From now on waits for this event instead.
  void watch(int fd, void* who, Need need) noexcept;
  // Waits for nothing of this socket any more, until watch().
  void ignore(int fd) noexcept;
  // Serves it when those before it in the queue were served. Called for what needs Need::turn.
  void queue(Place& place, Queue queue) noexcept {
    if (!place.is_linked()) put(place, queue);
    if (watching_ && !posted_) go_on_later();
  }
  // Serves some of what is ready now, and nothing that is queued.
  void look() { take_arrived(); }
  // Serves what is queued or ready now, `most` sockets of each at most: each once before any twice.
  void serve_arrived(std::size_t most);

  void close() noexcept;

 private:
  void watch() noexcept;
  void go_on();
  void go_on_later() noexcept;
  std::size_t take_arrived();
  void put(Place& place, Queue queue) noexcept;
  void serve_backlog();
  void serve_newcomer();
  void serve_all(Places& places, std::size_t most, Queue queue);
  [[nodiscard]] bool none_queued() const noexcept { return backlog_.empty() && newcomers_.empty(); }

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor epoll_;
  const HandlerMemory watched_;
  const HandlerMemory posting_;
  std::function<void(Ready)> arrived_;
  std::function<void(void*)> serve_;
  Places backlog_;
  FairLine newcomers_;
  // What calls go_on() next; both if something was queued while no socket was ready.
  bool watching_ = false;
  bool posted_ = false;
};

}  // namespace headgate::server
