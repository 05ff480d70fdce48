// Connections are watched by an epoll of the door's own, which Asio watches as one descriptor. So
// one wait tells of all that are ready, and they are served together; and a request costs one
// recv() and one send(), and no system call or allocation for arming a wait.

#include "headgate/server/resp_door.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <span>
#include <string>
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
constexpr std::size_t together_max = 64;  // connections
constexpr int rounds_max = 8;             // before the thread's other doors have their turn
constexpr std::chrono::seconds tick{1};
constexpr std::string_view full = "-ERR max number of clients reached\r\n";

int new_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

// Whether there was memory enough: who needs more than there is goes, the others stay.
template <class Act>
bool attempt(Act act) noexcept {
  try {
    act();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

class RespDoor final : public Door {
 public:
  RespDoor(Station& station, boost::asio::io_context& io, const DoorOptions& options)
      : options_(options),
        desk_(station, options.token),
        input_(input_bytes),
        ready_(io, new_epoll()),
        timer_(io) {
    watch();
  }

  void open(Socket socket) override;
  void stop() noexcept override;

 private:
  struct Client {
    Client(int fd, RespDesk& desk) : connection(fd, desk) {}

    RespConnection connection;
    Need need = Need::input;
    bool failed = false;      // there was no memory to serve it
    bool resting = true;      // in which list it is
    std::uint64_t since = 0;  // tick of its last command; not resting: of when that began
    std::list<Client>::iterator self;
  };
  using Clients = std::list<Client>;  // longest waiting first

  void watch();
  void serve_ready();
  bool serve_some();
  void tell(Client& client, std::string& replies);
  void wait_for(Client& client, Need need);
  void note(Client& client);
  void close(Client& client);
  void start_ticking();
  void close_overdue(Clients& clients, std::chrono::seconds allowed);
  void end_if_done();

  const DoorOptions& options_;
  RespDesk desk_;
  std::vector<char> input_;
  std::array<std::string, together_max> replies_;
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
  if (!attempt([&] { resting_.emplace_back(socket.native_handle(), desk_); })) return;
  Client& client = resting_.back();
  error_code ignored;
  socket.release(ignored);
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
  for (int round = 0; round < rounds_max && serve_some(); ++round) {
  }
}

// Serves some of those that are ready. False: nobody was.
bool RespDoor::serve_some() {
  std::array<epoll_event, together_max> events;
  const int ready = epoll_wait(ready_.native_handle(), events.data(), together_max, 0);
  if (ready <= 0) return false;
  const auto clients = std::span(events).first(static_cast<std::size_t>(ready));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    replies_[i].clear();
    auto& client = *static_cast<Client*>(clients[i].data.ptr);
    client.failed = !attempt([&] { client.connection.hear(input_, replies_[i]); });
  }
  const bool flushed = attempt([&] { desk_.throttles.flush(); });
  for (std::size_t i = 0; i < clients.size(); ++i) {
    auto& client = *static_cast<Client*>(clients[i].data.ptr);
    if (!flushed) client.failed = true;
    tell(client, replies_[i]);
  }
  return true;
}

void RespDoor::tell(Client& client, std::string& replies) {
  Need need = Need::nothing;
  if (!client.failed) {
    client.failed = !attempt([&] { need = client.connection.tell(replies); });
  }
  if (client.failed || need == Need::nothing || (stopping_ && client.connection.at_rest())) {
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
