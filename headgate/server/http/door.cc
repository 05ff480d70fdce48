#include "headgate/server/http/door.h"

#include <sys/socket.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <iterator>
#include <list>
#include <string_view>

#include "headgate/server/http/session.h"
#include "headgate/server/ready_set.h"

namespace headgate::server {
namespace {

constexpr std::chrono::milliseconds tick{1000 / HttpDoorContext::ticks_per_second};

constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

class HttpDoor final : public Door {
 public:
  HttpDoor(WorkerContext& worker, boost::asio::io_context& io, const DoorOptions& options)
      : door_(worker, options),
        ready_(io,
               [this](ReadySet::Ready ready) {
                 for (void* who : ready) serve(*static_cast<Client*>(who));
               }),
        timer_(io) {}

  void open(Socket socket) override {
    if (clients_.size() >= door_.options.connections_max) {
      door_.worker.stats().refused(DoorKind::http);
      send(socket.native_handle(), too_many.data(), too_many.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      return;
    }
    Client& client = clients_.emplace_back(socket.native_handle(), door_);
    socket.release();
    client.self = std::prev(clients_.end());
    door_.worker.stats().connected(DoorKind::http);
    if (!ready_.add(client.session.fd(), &client)) return close(client);
    if (clients_.size() == 1) await_tick();
  }

  void stop() noexcept override {
    stops_ = true;
    for (Client& client : clients_) client.session.stop();
    // What has come by now is answered.
    ready_.serve_ready(clients_.size());
    for (auto at = clients_.begin(); at != clients_.end();) {
      Client& client = *at++;
      if (client.session.is_idle()) close(client);
    }
    end_if_done();
  }

 private:
  struct Client {
    Client(int fd, HttpDoorContext& door) : session(fd, door) {}

    HttpSession session;
    Need need = Need::input;
    std::list<Client>::iterator self;
  };

  void serve(Client& client) {
    const Need need = client.session.serve();
    if (need == Need::nothing) return close(client);
    if (need != client.need) ready_.watch(client.session.fd(), &client, need);
    client.need = need;
  }

  void close(Client& client) {
    clients_.erase(client.self);
    door_.worker.stats().disconnected(DoorKind::http);
    end_if_done();
  }

  void end_if_done() noexcept {
    if (!stops_ || !clients_.empty()) return;
    ready_.close();
    timer_.cancel();
  }

  void await_tick() {
    timer_.expires_after(tick);
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      ++door_.tick;
      close_overdue();
      if (!clients_.empty()) await_tick();
    });
  }

  // Looks at a part of the connections, so that each has its turn within a second.
  void close_overdue() {
    std::size_t count = clients_.size() / HttpDoorContext::ticks_per_second + 1;
    while (count-- > 0 && !clients_.empty()) {
      Client& client = clients_.front();
      clients_.splice(clients_.end(), clients_, client.self);
      if (client.session.is_overdue()) close(client);
    }
  }

  HttpDoorContext door_;
  ReadySet ready_;
  boost::asio::steady_timer timer_;
  std::list<Client> clients_;
  bool stops_ = false;
};

}  // namespace

std::unique_ptr<Door> make_http_door(WorkerContext& worker, boost::asio::io_context& io,
                                     const DoorOptions& options) {
  return std::make_unique<HttpDoor>(worker, io, options);
}

}  // namespace headgate::server
