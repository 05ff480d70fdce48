#include "headgate/server/envoy/grpc_listener.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

namespace headgate::server {
namespace {

// After an accept() that failed because descriptors or memory are short: long enough not to spin,
// short enough that a client hardly notices it.
constexpr std::chrono::milliseconds pause{50};

// The most connections accepted in one turn, so that closed ones are removed in between. As many
// events as ReadySet returns per turn.
constexpr int together_max = 64;

}  // namespace

GrpcListener::GrpcListener(Engine& engine, int fd, std::size_t connections_max,
                           std::unique_ptr<Grpc> grpc)
    : fd_(fd),
      connections_max_(connections_max),
      grpc_(std::move(grpc)),
      worker_(engine),
      ready_(io_, [this](ReadySet::Ready ready) { serve(ready); }),
      pausing_(io_) {}

GrpcListener::~GrpcListener() {
  stop();
  while (!connections_.empty()) forget(connections_.front());
}

bool GrpcListener::start() {
  if (!ready_.add(fd_, nullptr)) return false;
  thread_ = std::thread([this] { io_.run(); });
  return true;
}

void GrpcListener::stop() noexcept {
  if (fd_ < 0) return;
  io_.stop();
  if (thread_.joinable()) thread_.join();
  close(std::exchange(fd_, -1));
}

void GrpcListener::serve(ReadySet::Ready ready) {
  bool can_accept = false;
  for (void* who : ready) {
    if (who == nullptr) {
      can_accept = true;
    } else {
      forget(*static_cast<Connection*>(who));
    }
  }
  if (can_accept) accept();
}

void GrpcListener::accept() {
  for (int i = 0; i < together_max; ++i) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      take_over(fd);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      ready_.watch(fd_, nullptr, Need::end);
      pausing_.expires_after(pause);
      pausing_.async_wait(
          [this](boost::system::error_code) { ready_.watch(fd_, nullptr, Need::input); });
      return;
    }
  }
}

void GrpcListener::take_over(int fd) {
  const int watched = connections_.size() < connections_max_ ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  if (watched < 0) {
    worker_.stats().refused(DoorKind::grpc);
    close(fd);
    return;
  }
  Connection& connection = connections_.emplace_back(watched);
  connection.self = std::prev(connections_.end());
  worker_.stats().connected(DoorKind::grpc);
  if (!ready_.add(watched, &connection)) {
    forget(connection);
    close(fd);
    return;
  }
  ready_.watch(watched, &connection, Need::end);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails for a Unix socket: ignored
  Grpc::NewConnectionParameters parameters;
  parameters.listener_fd = fd_;
  parameters.fd = fd;
  grpc_->HandleNewConnection(&parameters);
}

void GrpcListener::forget(Connection& connection) noexcept {
  ready_.remove(connection.watched);
  close(connection.watched);
  connections_.erase(connection.self);
  worker_.stats().disconnected(DoorKind::grpc);
}

}  // namespace headgate::server
