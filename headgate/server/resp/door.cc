#include "headgate/server/resp/door.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headgate/server/resp/connection.h"
#include "headgate/server/resp/door_context.h"

namespace headgate::server {
namespace {

using boost::system::error_code;

constexpr std::size_t input_bytes = std::size_t{64} << 10;
constexpr std::chrono::seconds tick{1};
constexpr std::string_view full = "-ERR max number of clients reached\r\n";

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
  RespDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : options_(options),
        door_(worker, options.token),
        input_(input_bytes),
        ready_(io, [this](ReadySet::Ready ready) { serve(ready); }),
        timer_(io) {}

  void open(Socket socket) override;
  void stop() noexcept override;

 private:
  struct Client {
    Client(int fd, RespDoorContext& door) : connection(fd, door) {}

    RespConnection connection;
    Need need = Need::input;
    bool failed = false;      // there was no memory to serve it
    bool resting = true;      // in which list it is
    std::uint64_t since = 0;  // tick of its last command; not resting: of when that began
    std::list<Client>::iterator self;
  };
  using Clients = std::list<Client>;  // longest waiting first

  void serve(ReadySet::Ready ready);
  void tell(Client& client, std::string& replies);
  void note(Client& client);
  void close(Client& client);
  void start_ticking();
  void close_overdue(Clients& clients, std::chrono::seconds allowed);
  void end_if_done();

  const DoorOptions& options_;
  RespDoorContext door_;
  std::vector<char> input_;
  std::array<std::string, ReadySet::together_max> replies_;
  ReadySet ready_;
  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  std::uint64_t now_ = 0;  // [ticks]
  Clients resting_;
  Clients busy_;  // in the middle of a command, or of their replies
  bool stopping_ = false;
};

void RespDoor::open(Socket socket) {
  DecisionStats& stats = door_.worker.stats();
  if (resting_.size() + busy_.size() >= options_.connections_max) {
    stats.refused(DoorKind::resp);
    send(socket.native_handle(), full.data(), full.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  if (!attempt([&] { resting_.emplace_back(socket.native_handle(), door_); })) return;
  Client& client = resting_.back();
  error_code ignored;
  socket.release(ignored);
  stats.connected(DoorKind::resp);
  client.self = std::prev(resting_.end());
  client.since = now_;
  if (!ready_.add(client.connection.fd(), &client)) return close(client);
  if (!ticking_) start_ticking();
}

// Hears them all before it tells any, so that they are decided together.
void RespDoor::serve(ReadySet::Ready ready) {
  const auto client = [&](std::size_t i) -> Client& { return *static_cast<Client*>(ready[i]); };
  for (std::size_t i = 0; i < ready.size(); ++i) {
    replies_[i].clear();
    client(i).failed = !attempt([&] { client(i).connection.hear(input_, replies_[i]); });
  }
  const bool flushed = attempt([&] { door_.throttles.flush(); });
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (!flushed) client(i).failed = true;
    tell(client(i), replies_[i]);
  }
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
  if (need != client.need) ready_.watch(client.connection.fd(), &client, client.need = need);
  note(client);
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
  door_.worker.stats().disconnected(DoorKind::resp);
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
  // What has come by now is answered.
  ready_.serve_ready(resting_.size() + busy_.size());
  while (!resting_.empty()) close(resting_.front());
  end_if_done();
}

void RespDoor::end_if_done() {
  if (!stopping_ || !resting_.empty() || !busy_.empty()) return;
  ready_.close();
  timer_.cancel();
}

}  // namespace

std::unique_ptr<Door> make_resp_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<RespDoor>(worker, io, options);
}

}  // namespace headgate::server
