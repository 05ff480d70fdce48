// The connections of one door of one worker: their number, their timeouts and their end.
#pragma once

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <string_view>
#include <utility>

#include "headgate/server/door.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Waits for the sockets of its connections, counts them in the worker's statistics, and closes the
// ones that exceed a timeout of DoorOptions. Everything happens on the worker's thread.
//
// Connection(int fd, Context&) owns the non-blocking socket `fd`, and has
//
//   int fd() const       the socket
//   bool is_idle() const whether no request has begun and no reply is left to send; if so, the
//                        timeout is DoorOptions::idle, otherwise DoorOptions::patience
//   bool moved() const   whether the last call completed something, so that the timeout restarts
template <class Connection>
class ConnectionList {
 public:
  class Client {
   public:
    template <class Context>
    Client(int fd, Context& context) : connection(fd, context) {}

    Connection connection;

   private:
    friend class ConnectionList;

    Need need_ = Need::input;
    bool idle_ = true;         // which list contains it
    std::uint64_t since_ = 0;  // the tick in which its timeout began
    typename std::list<Client>::iterator self_;
  };

  // `refusal` is sent to a connection beyond the maximum before it is closed; static storage.
  // `serve` is called with some of the Clients that are ready, and calls served() for each of them.
  ConnectionList(DoorKind kind, WorkerContext& worker, boost::asio::io_context& io,
                 const DoorOptions& options, std::string_view refusal,
                 std::function<void(ReadySet::Ready)> serve)
      : kind_(kind),
        stats_(worker.stats()),
        idle_max_(options.idle),
        patience_(options.patience),
        connections_max_(options.connections_max),
        refusal_(refusal),
        ready_(io, std::move(serve)),
        timer_(io) {}

  // Takes over a connection that was accepted. Closes it at once if there are too many or if memory
  // is short.
  template <class Context>
  void open(Socket socket, Context& context) {
    if (size() >= connections_max_) {
      stats_.refused(kind_);
      send(socket.native_handle(), refusal_.data(), refusal_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      return;
    }
    try {
      idle_.emplace_back(socket.native_handle(), context);
    } catch (const std::exception&) {
      return;
    }
    boost::system::error_code ignored;
    socket.release(ignored);
    Client& client = idle_.back();
    client.self_ = std::prev(idle_.end());
    client.since_ = now_;
    stats_.connected(kind_);
    if (!ready_.add(client.connection.fd(), &client)) return close(client);
    if (!ticking_) start_ticking();
  }

  // Ends the turn of a client: closes it if it needs nothing any more, otherwise waits for `need`.
  void served(Client& client, Need need) noexcept {
    if (need == Need::nothing || (stopping_ && client.connection.is_idle())) return close(client);
    if (need != client.need_) ready_.watch(client.connection.fd(), &client, need);
    client.need_ = need;
    update_timeout(client);
  }

  template <class Act>
  void for_each(const Act& act) {
    for (Client& client : idle_) act(client.connection);
    for (Client& client : busy_) act(client.connection);
  }

  // Calls act(client) for each Client. `act` may call served() for it.
  template <class Act>
  void for_each_client(const Act& act) {
    for (Clients* clients : {&idle_, &busy_}) {
      for (auto at = clients->begin(); at != clients->end();) act(*at++);
    }
  }

  // Serves what has arrived by now, closes all idle connections, and each other one when it becomes
  // idle. The io_context has no work of this list after the last one. open() is not called again.
  void stop() noexcept {
    stopping_ = true;
    ready_.serve_ready(size());
    while (!idle_.empty()) close(idle_.front());
    end_if_done();
  }

 private:
  using Clients = std::list<Client>;  // in the order of since_

  // A timeout is late by at most one tick. Ticks of a second cost next to nothing, and timeouts are
  // whole seconds.
  static constexpr std::chrono::seconds tick{1};

  [[nodiscard]] std::size_t size() const noexcept { return idle_.size() + busy_.size(); }

  // Keeps both lists in the order of since_.
  void update_timeout(Client& client) noexcept {
    const bool idle = client.connection.is_idle();
    const bool restarts = idle != client.idle_ || client.connection.moved();
    if (!restarts || (idle == client.idle_ && client.since_ == now_)) return;
    Clients& from = client.idle_ ? idle_ : busy_;
    Clients& to = idle ? idle_ : busy_;
    to.splice(to.end(), from, client.self_);
    client.idle_ = idle;
    client.since_ = now_;
  }

  void close(Client& client) noexcept {
    (client.idle_ ? idle_ : busy_).erase(client.self_);
    stats_.disconnected(kind_);
    end_if_done();
  }

  void start_ticking() {
    ticking_ = true;
    timer_.expires_after(tick);
    timer_.async_wait([this](boost::system::error_code error) {
      ticking_ = false;
      if (error) return;
      ++now_;
      close_overdue(idle_, idle_max_);
      close_overdue(busy_, patience_);
      if (size() > 0) start_ticking();
    });
  }

  void close_overdue(Clients& clients, std::chrono::seconds allowed) noexcept {
    const auto ticks = static_cast<std::uint64_t>(allowed / tick);
    while (!clients.empty() && now_ - clients.front().since_ > ticks) close(clients.front());
  }

  void end_if_done() noexcept {
    if (!stopping_ || size() > 0) return;
    ready_.close();
    timer_.cancel();
  }

  const DoorKind kind_;
  DecisionStats& stats_;
  const std::chrono::seconds idle_max_;
  const std::chrono::seconds patience_;
  const std::size_t connections_max_;
  const std::string_view refusal_;
  ReadySet ready_;
  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  bool stopping_ = false;
  std::uint64_t now_ = 0;  // [ticks]
  Clients idle_;
  Clients busy_;  // a request has begun, or a reply is left to send
};

}  // namespace headgate::server
