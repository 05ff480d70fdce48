#include "headgate/server/worker.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <exception>
#include <list>
#include <utility>

namespace headgate::server {
namespace {

using boost::asio::generic::stream_protocol;
using boost::system::error_code;
using Acceptor = boost::asio::basic_socket_acceptor<stream_protocol>;

// After an accept() that failed because descriptors or memory are short: long enough not to spin,
// short enough that a client hardly notices it.
constexpr std::chrono::milliseconds accept_pause{50};

// One is Listener's, and two are those of its door's ConnectionList.
constexpr std::size_t timers_per_listener = 3;

// So many connections are accepted together, in about a millisecond. If it were one, a flood of
// them would fill the kernel's queue while each handshake takes its time; if it were hundreds, the
// clients of other doors would wait.
constexpr std::size_t together_max = 24;

// Fewer if strangers have few places, so that those of one burst do not drive out each other before
// they have a turn.
std::size_t together(const DoorOptions& options) noexcept {
  return std::clamp<std::size_t>(options.strangers_max() / 2, 1, together_max);
}

// Asio keeps the timers that run in an array that grows, and never shrinks. From now on, so many
// can run without memory for it. Throws std::bad_alloc.
void reserve_timers(boost::asio::io_context& io, std::size_t count) {
  std::list<boost::asio::steady_timer> timers;
  for (std::size_t i = 0; i < count; ++i) {
    timers.emplace_back(io, std::chrono::hours(1)).async_wait([](error_code) {});
  }
  timers.clear();
  io.poll();
}

}  // namespace

struct Worker::Listener {
  Listener(boost::asio::io_context& io, const Listening& listening, int fd, WorkerContext& context,
           const DoorOptions& options)
      : kind(listening.kind),
        is_tcp(!listening.endpoint.is_unix()),
        acceptor(io, stream_protocol(listening.endpoint.family(), 0), fd),
        pausing(io),
        door(listening.make_door(context, io, options)) {
    acceptor.non_blocking(true);
    // Otherwise accept() waits for the next connection if one was reset before.
    acceptor.set_option(boost::asio::socket_base::enable_connection_aborted(true));
  }

  // Returns why there was none.
  error_code accept_one() noexcept {
    try {
      error_code error;
      Socket socket = acceptor.accept(error);
      if (error == boost::asio::error::connection_aborted || error.value() == EPROTO) return {};
      if (error) return error;
      if (const int on = 1; is_tcp) {
        setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      }
      socket.non_blocking(true, error);
      door->open(std::move(socket));
      return {};
    } catch (const std::exception&) {  // only std::bad_alloc
      return boost::asio::error::no_memory;
    }
  }

  DoorKind kind;
  bool is_tcp;
  Acceptor acceptor;
  boost::asio::steady_timer pausing;
  const HandlerMemory waiting;  // for a connection, or for the end of the pause
  std::unique_ptr<Door> door;
};

Worker::Worker(Engine& engine, const DoorOptions& options)
    : options_(options), context_(engine), answers_(io_, context_.answers()) {}

Worker::~Worker() { end(); }

void Worker::listen(const Listening& listening, int fd) {
  listeners_.push_back(std::make_unique<Listener>(io_, listening, fd, context_, options_));
}

void Worker::accept(Listener& listener) noexcept {
  const auto accept_some = [this, &listener](error_code error) {
    if (!listener.acceptor.is_open()) return;
    for (std::size_t left = together(options_); left > 0 && !error; --left) {
      error = listener.accept_one();
    }
    if (!error || error == boost::asio::error::would_block) return accept(listener);
    context_.stats().accept_failed(listener.kind, error.value());
    pause(listener);
  };
  listener.acceptor.async_wait(Acceptor::wait_read, listener.waiting.hold(accept_some));
}

void Worker::pause(Listener& listener) noexcept {
  listener.pausing.expires_after(accept_pause);
  listener.pausing.async_wait(listener.waiting.hold([this, &listener](error_code) {
    if (listener.acceptor.is_open()) accept(listener);
  }));
}

void Worker::start() {
  reserve_timers(io_, timers_per_listener * listeners_.size());
  thread_ = std::thread([this] {
    for (const auto& listener : listeners_) accept(*listener);
    io_.run();
    ended_.store(true, std::memory_order_release);
  });
}

void Worker::stop() noexcept {
  boost::asio::post(io_, stopping_.hold([this] {
    for (const auto& listener : listeners_) {
      error_code ignored;
      listener->acceptor.close(ignored);
      listener->pausing.cancel();
      listener->door->stop();
    }
  }));
}

void Worker::end() noexcept {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace headgate::server
