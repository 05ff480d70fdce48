// Connections are watched by an epoll of the door's own, which Asio watches as one descriptor: one
// wait tells of all that are ready, and a request costs one recv() and one send(), and no system
// call or allocation for arming a wait. (With Asio's own reads, each would first try in vain.)

#include "headgate/server/resp_door.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <system_error>
#include <utility>
#include <vector>

#include "headgate/server/resp_connection.h"
#include "headgate/server/resp_desk.h"

namespace headgate::server {
namespace {

using boost::system::error_code;
using Need = RespConnection::Need;

constexpr std::size_t input_bytes = std::size_t{64} << 10;
constexpr std::size_t events_max = 128;
constexpr int rounds_max = 8;  // before the thread's other doors have their turn
constexpr std::chrono::seconds tick{1};
constexpr std::string_view full = "-ERR max number of clients reached\r\n";

int new_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

class RespDoor final : public Door {
 public:
  RespDoor(Station& station, boost::asio::io_context& io, const DoorOptions& options)
      : options_(options),
        desk_(station, options.token),
        input_(input_bytes),
        buffers_{input_, {}},
        ready_(io, new_epoll()),
        timer_(io) {
    watch();
  }

  void open(Socket socket) override;
  void stop() noexcept override;

 private:
  struct Client {
    Client(int fd, RespDesk& desk, RespBuffers& buffers) : connection(fd, desk, buffers) {}

    RespConnection connection;
    Need need = Need::input;
    bool resting = true;      // in which list it is
    std::uint64_t since = 0;  // tick of its last command; not resting: of when that began
    std::list<Client>::iterator self;
  };
  using Clients = std::list<Client>;  // longest waiting first

  void watch();
  void serve_ready();
  void serve(Client& client);
  void wait_for(Client& client, Need need);
  void note(Client& client);
  void close(Client& client);
  void start_ticking();
  void close_overdue(Clients& clients, std::chrono::seconds allowed);
  void end_if_done();

  const DoorOptions& options_;
  RespDesk desk_;
  std::vector<char> input_;
  RespBuffers buffers_;
  boost::asio::posix::stream_descriptor ready_;  // our epoll
  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  std::uint64_t now_ = 0;  // [ticks]
  Clients resting_;
  Clients busy_;  // in the middle of a command, or of their replies
  bool stopping_ = false;
};

void RespDoor::open(Socket socket) {
  Sight& sight = desk_.station.sight();
  if (resting_.size() + busy_.size() >= options_.connections_max) {
    sight.refused(DoorKind::resp);
    send(socket.native_handle(), full.data(), full.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  Client& client = resting_.emplace_back(socket.native_handle(), desk_, buffers_);
  socket.release();
  sight.connected(DoorKind::resp);
  client.self = std::prev(resting_.end());
  client.since = now_;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &client;
  if (epoll_ctl(ready_.native_handle(), EPOLL_CTL_ADD, client.connection.fd(), &event) != 0) {
    return close(client);
  }
  if (!ticking_) start_ticking();
}

void RespDoor::watch() {
  ready_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (error) return;
    serve_ready();
    if (ready_.is_open()) watch();
  });
}

void RespDoor::serve_ready() {
  std::array<epoll_event, events_max> events;
  for (int round = 0; round < rounds_max; ++round) {
    const int count = epoll_wait(ready_.native_handle(), events.data(), events_max, 0);
    if (count <= 0) return;
    for (int i = 0; i < count; ++i) serve(*static_cast<Client*>(events[i].data.ptr));
  }
}

void RespDoor::serve(Client& client) {
  Need need = Need::nothing;
  try {
    need = client.connection.go_on();
  } catch (const std::exception&) {  // no memory: this client goes, the others stay
  }
  if (need == Need::nothing || (stopping_ && client.connection.at_rest())) {
    close(client);
    end_if_done();
    return;
  }
  if (need != client.need) wait_for(client, need);
  note(client);
}

void RespDoor::wait_for(Client& client, Need need) {
  client.need = need;
  epoll_event event{};
  event.events = need == Need::input ? EPOLLIN : EPOLLOUT;
  event.data.ptr = &client;
  epoll_ctl(ready_.native_handle(), EPOLL_CTL_MOD, client.connection.fd(), &event);
}

// Keeps both lists in the order of `since`.
void RespDoor::note(Client& client) {
  const bool rests = client.connection.at_rest();
  const bool moves = rests != client.resting || client.connection.moved();
  if (!moves || (rests == client.resting && client.since == now_)) return;
  Clients& from = client.resting ? resting_ : busy_;
  Clients& to = rests ? resting_ : busy_;
  to.splice(to.end(), from, client.self);
  client.resting = rests;
  client.since = now_;
}

void RespDoor::close(Client& client) {
  (client.resting ? resting_ : busy_).erase(client.self);
  desk_.station.sight().disconnected(DoorKind::resp);
}

void RespDoor::start_ticking() {
  ticking_ = true;
  timer_.expires_after(tick);
  timer_.async_wait([this](error_code error) {
    ticking_ = false;
    if (error) return;
    ++now_;
    close_overdue(resting_, options_.idle);
    close_overdue(busy_, options_.patience);
    end_if_done();
    if (!resting_.empty() || !busy_.empty()) start_ticking();
  });
}

void RespDoor::close_overdue(Clients& clients, std::chrono::seconds allowed) {
  const auto ticks = static_cast<std::uint64_t>(allowed / tick);
  while (!clients.empty() && now_ - clients.front().since > ticks) close(clients.front());
}

void RespDoor::stop() noexcept {
  stopping_ = true;
  serve_ready();  // what has come by now is answered
  while (!resting_.empty()) close(resting_.front());
  end_if_done();
}

void RespDoor::end_if_done() {
  if (!stopping_ || !resting_.empty() || !busy_.empty()) return;
  error_code ignored;
  ready_.close(ignored);
  timer_.cancel();
}

}  // namespace

std::unique_ptr<Door> make_resp_door(Station& station, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<RespDoor>(station, io, options);
}

}  // namespace headgate::server
