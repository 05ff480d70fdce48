// The connections of one door of one worker: their number, their timeouts and their end.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "headgate/base/random.h"
#include "headgate/server/credentials.h"
#include "headgate/server/crowd.h"
#include "headgate/server/door.h"
#include "headgate/server/handler_memory.h"
#include "headgate/server/job.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/source.h"
#include "headgate/server/turn.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Waits for the sockets of its connections, counts them in the worker's statistics, and closes the
// ones that exceed a timeout of DoorOptions. Everything happens on the worker's thread.
//
// Connection(int fd, Context&, Resume) owns the non-blocking socket `fd`, may call Resume to be
// served soon although its socket is not ready, and has
//
//   int fd() const             the socket
//   bool is_trusted() const    whether it has shown a token that is in force, or needs none
//   bool is_established() const  whether its handshake of TLS is done, or there is none
//   bool has_received() const  whether anything has come from the client but a handshake of TLS
//   bool is_idle() const       whether no request has begun and no reply is left to send: the
//                              timeout is DoorOptions::idle then, else DoorOptions::patience
//   bool moved() const         whether the last call completed something: the timeout restarts
//   answers_at() const         the time until which it pauses, after Need::pause
//
// Strangers, the connections that are not trusted, cannot lock out the others: they have patience
// but no idle time, and a share of the connections. If that is used up, or if there are too many
// connections, a newcomer takes the place of a stranger: of those of the source that has the most,
// the one that did nothing for the longest time. A connection whose token is replaced is a stranger
// again.
//
// `confirms_stop`: whether the protocol makes clients confirm that they know of a stop. Requests
// may be on their way until then, and then the connection ends itself: it needs nothing any more.
//
// A client is served as soon as it is ready, except new ones and strangers, which wait in one
// queue, where their sources take turns, and those whose turns are long or whose last one has left
// input, which wait in another.
template <class Connection, bool confirms_stop = false>
class ConnectionList {
 private:
  using Clock = std::chrono::steady_clock;

  enum class Standing : std::uint8_t {
    stranger,
    idle,
    busy,  // a request has begun, or a reply is left to send
  };

 public:
  class Client;
  using Pauses = std::multimap<Clock::time_point, Client*>;

  class Client {
   public:
    template <class Context>
    Client(int fd, Context& context, ConnectionList& list)
        : connection(fd, context,
                     {[](void* self) noexcept {
                        Client& client = *static_cast<Client*>(self);
                        client.list_.resume(client);
                      },
                      this}),
          list_(list) {}

    Connection connection;

   private:
    friend class ConnectionList;

    ConnectionList& list_;
    ReadySet::Place place_{this};
    ReadySet::Place resumed_{this};   // in the list of those that are served soon
    Crowd::Place crowd_place_{this};  // while it is a stranger
    // Where it waits when it is ready; std::nullopt: it is served at once.
    std::optional<ReadySet::Queue> queue_ = ReadySet::Queue::newcomers;
    // The average of its last turns. A single one counts for little, because it is long also if the
    // thread was interrupted.
    Turn::Clock::duration usual_work_ = Turn::short_max;
    Need need_ = Need::input;
    Standing standing_ = Standing::stranger;
    std::uint64_t since_ = 0;  // the tick in which its timeout began
    typename std::list<Client>::iterator self_;
    std::optional<typename Pauses::iterator> pause_;
  };

  // `refusal` is sent to a connection beyond the maximum before it is closed; static storage.
  // `serve` is called with some of the Clients that are ready, and calls served() for each of them.
  // `on_tick`, if not null, is called once per second while there are connections.
  ConnectionList(DoorKind kind, WorkerContext& worker, boost::asio::io_context& io,
                 const DoorOptions& options, std::string_view refusal,
                 std::function<void(ReadySet::Ready)> serve,
                 std::function<void()> on_tick = nullptr)
      : kind_(kind),
        stats_(worker.stats()),
        credentials_(options.credentials),
        credentials_number_(credentials_->number()),
        idle_max_(options.idle),
        patience_(options.patience),
        connections_max_(options.connections_max),
        strangers_max_(options.strangers_max()),
        refusal_(refusal),
        serve_(std::move(serve)),
        on_tick_(std::move(on_tick)),
        ready_(
            io, [this](ReadySet::Ready ready) { take_arrived(ready); },
            [this](void* who) { serve_(std::span(&who, 1)); }),
        io_(io),
        timer_(io),
        pause_timer_(io) {}

  // Takes over a connection that was accepted. Closes it at once if there are too many that are
  // trusted, or if memory is short.
  template <class Context>
  void open(Socket socket, Context& context) noexcept {
    find_strangers();
    Clients& strangers = list(Standing::stranger);
    if (size() >= connections_max_ || strangers.size() >= strangers_max_) {
      if (strangers.empty()) {
        stats_.refused(kind_);
        send(socket.native_handle(), refusal_.data(), refusal_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
      }
      stats_.crowded_out(kind_);
      close(*static_cast<Client*>(crowd_.first_to_go()));
    }
    try {
      strangers.emplace_back(socket.native_handle(), context, *this);
    } catch (const std::exception&) {
      return stats_.accept_failed(kind_, ENOMEM);
    }
    boost::system::error_code ignored;
    socket.release(ignored);
    Client& client = strangers.back();
    client.self_ = std::prev(strangers.end());
    client.since_ = now_;
    client.place_.source = client.crowd_place_.source = source_of(client.connection.fd(), secret_);
    crowd_.add(client.crowd_place_);
    stats_.connected(kind_);
    update_timeout(client);
    if (!ready_.add(client.connection.fd(), &client)) {
      stats_.accept_failed(kind_, errno);
      return close(client);
    }
    if (!ticking_) start_ticking();
    // A worker accepts many together: those that are known do not wait for all of them.
    if (++opened_ % opened_before_look == 0) ready_.look();
  }

  // Ends the turn of a client: closes it if it needs nothing any more, otherwise waits for `need`.
  void served(Client& client, Need need, Turn::Clock::duration worked = {}) noexcept {
    if (need == Need::nothing || is_done(client)) return close(client);
    if (client.pause_) pauses_.erase(*std::exchange(client.pause_, std::nullopt));
    if (client.resumed_.is_linked()) client.resumed_.unlink();
    if (need != client.need_) ready_.watch(client.connection.fd(), &client, need);
    client.need_ = need;
    update_timeout(client);
    if (worked > Turn::Clock::duration()) {
      const Turn::Clock::duration counted =
          std::min<Turn::Clock::duration>(worked, 2 * Turn::short_max);
      client.usual_work_ += (counted - client.usual_work_) / 4;
    }
    client.queue_ = queue_of(client);
    if (need == Need::turn) ready_.queue(client.place_, ReadySet::Queue::backlog);
    if (need == Need::pause) pause(client);
  }

  // Calls Connection::serve(Turn&) of each of these Clients.
  void serve_each(ReadySet::Ready ready) noexcept {
    for (void* const each : ready) {
      Client& client = *static_cast<Client*>(each);
      Turn turn(ready.size());
      const Need need = client.connection.serve(turn);
      served(client, need, turn.worked());
    }
  }

  // Calls act(client) for each Client. `act` may call served() for it.
  template <class Act>
  void for_each(const Act& act) {
    for (Clients& clients : lists_) {
      for (auto next = clients.begin(); next != clients.end();) act(*next++);
    }
  }

  // Serves what has arrived by now, closes all idle connections, and each other one when it becomes
  // idle. What is on its way has a second: the first request of those that have just come, and the
  // confirmation of the others, if there is one. The io_context has no work of this list after the
  // last one. open() is not called again.
  void stop() noexcept {
    stopping_ = true;
    hears_until_ = now_ + 1;
    ready_.serve_arrived(size());
    close_done();
    end_if_done();
  }

 private:
  using Clients = std::list<Client>;  // in the order of since_

  // So many take about 0.3 ms: each is some system calls, and with TLS some memory.
  static constexpr std::size_t opened_before_look = 8;

  // A timeout is late by at most one tick. Ticks of a second cost next to nothing, and timeouts are
  // whole seconds.
  static constexpr std::chrono::seconds tick{1};

  [[nodiscard]] Clients& list(Standing standing) noexcept {
    return lists_[static_cast<std::size_t>(standing)];
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return lists_[0].size() + lists_[1].size() + lists_[2].size();
  }

  [[nodiscard]] static Standing standing_of(const Connection& connection) noexcept {
    if (!connection.is_trusted()) return Standing::stranger;
    return connection.is_idle() ? Standing::idle : Standing::busy;
  }

  // Clients whose requests take long, and those that may never become trusted, do not delay others:
  // the handshakes of TLS, for example, take as long as a hundred requests.
  [[nodiscard]] static std::optional<ReadySet::Queue> queue_of(const Client& client) noexcept {
    if (client.standing_ == Standing::stranger) return ReadySet::Queue::newcomers;
    if (client.usual_work_ > Turn::short_max) return ReadySet::Queue::backlog;
    return std::nullopt;
  }

  // Answers often come together, some of them for the same connection.
  void resume(Client& client) noexcept {
    if (client.resumed_.is_linked()) return;
    resumed_.push_back(client.resumed_);
    if (std::exchange(resuming_, true)) return;
    boost::asio::post(io_, resume_memory_.hold([this] { serve_resumed(); }));
  }

  void serve_resumed() {
    resuming_ = false;
    ReadySet::Places resumed;
    resumed.swap(resumed_);
    while (!resumed.empty()) {
      std::array<void*, ReadySet::together_max> some;
      std::size_t count = 0;
      while (count < some.size() && !resumed.empty()) {
        Client& client = *static_cast<Client*>(resumed.front().who);
        resumed.pop_front();
        if (!client.pause_) some[count++] = &client;  // otherwise it is served after the pause
      }
      if (count > 0) serve_(std::span(some).first(count));
    }
  }

  // Serves those of them that are served at once, and queues the others.
  void take_arrived(ReadySet::Ready ready) {
    std::array<void*, ReadySet::together_max> at_once;
    std::size_t count = 0;
    for (void* const each : ready) {
      Client& client = *static_cast<Client*>(each);
      // Of one that is queued, or waits for an answer, only the end is watched.
      const bool is_queued = client.place_.is_linked();
      if (client.need_ == Need::answer) {
        close(client);
      } else if (stopping_ || (!client.queue_ && !is_queued)) {
        at_once[count++] = each;
      } else if (is_queued) {
        // What it has sent is served; in the middle of a handshake it has asked for nothing.
        if (client.connection.is_established()) {
          ready_.ignore(client.connection.fd());
        } else {
          close(client);
        }
      } else {
        client.need_ = Need::turn;
        ready_.watch(client.connection.fd(), &client, Need::turn);
        ready_.queue(client.place_, *client.queue_);
      }
    }
    if (count > 0) serve_(std::span(at_once).first(count));
  }

  // Keeps the lists in the order of since_.
  void update_timeout(Client& client) noexcept {
    const Standing standing = standing_of(client.connection);
    const bool changed = standing != client.standing_;
    if (!changed && (!client.connection.moved() || client.since_ == now_)) return;
    begin_timeout(client, standing);
  }

  void begin_timeout(Client& client, Standing standing) noexcept {
    Clients& to = list(standing);
    to.splice(to.end(), list(client.standing_), client.self_);
    if (client.standing_ == Standing::stranger) crowd_.remove(client.crowd_place_);
    if (standing == Standing::stranger) crowd_.add(client.crowd_place_);
    client.standing_ = standing;
    client.since_ = now_;
  }

  // Finds those that are strangers by the credentials in force now, if these are other ones.
  void find_strangers() noexcept {
    const std::uint64_t number = credentials_->number();
    if (std::exchange(credentials_number_, number) == number) return;
    for_each([this](Client& client) {
      const Standing standing = standing_of(client.connection);
      if (standing == client.standing_) return;
      begin_timeout(client, standing);
      client.queue_ = queue_of(client);
    });
  }

  // Waits until the connection may send its reply. Closes it if memory is short.
  void pause(Client& client) noexcept {
    try {
      client.pause_ = pauses_.emplace(client.connection.answers_at(), &client);
    } catch (const std::exception&) {
      return close(client);
    }
    if (*client.pause_ != pauses_.begin()) return;
    if (pausing_) {
      pause_timer_.cancel();  // starts again, for this one
    } else {
      start_pause_timer();
    }
  }

  void start_pause_timer() noexcept {
    pausing_ = true;
    pause_timer_.expires_at(pauses_.begin()->first);
    pause_timer_.async_wait(pause_memory_.hold([this](boost::system::error_code) {
      pausing_ = false;
      while (!pauses_.empty() && pauses_.begin()->first <= Clock::now()) {
        Client& client = *pauses_.begin()->second;
        pauses_.erase(pauses_.begin());
        client.pause_.reset();
        begin_timeout(client, client.standing_);  // in which the client reads its answer
        client.need_ = Need::output;
        ready_.watch(client.connection.fd(), &client, Need::output);
      }
      if (!pauses_.empty()) start_pause_timer();
    }));
  }

  void close(Client& client) noexcept {
    if (client.pause_) pauses_.erase(*client.pause_);
    if (client.standing_ == Standing::stranger) crowd_.remove(client.crowd_place_);
    list(client.standing_).erase(client.self_);
    stats_.disconnected(kind_);
    end_if_done();
  }

  [[nodiscard]] bool is_done(const Client& client) const noexcept {
    const bool is_silent = !client.connection.has_received();
    const bool may_hear = now_ <= hears_until_ && (is_silent || confirms_stop);
    return stopping_ && (is_silent || client.connection.is_idle()) && !may_hear;
  }

  void close_done() noexcept {
    for_each([this](Client& client) {
      if (is_done(client)) close(client);
    });
  }

  void start_ticking() noexcept {
    ticking_ = true;
    timer_.expires_after(tick);
    timer_.async_wait(tick_memory_.hold([this](boost::system::error_code error) {
      ticking_ = false;
      if (error) return;
      ++now_;
      find_strangers();
      if (on_tick_) on_tick_();
      close_overdue(list(Standing::stranger), std::min(idle_max_, patience_));
      close_overdue(list(Standing::idle), idle_max_);
      close_overdue(list(Standing::busy), patience_);
      if (stopping_) close_done();
      if (size() > 0) start_ticking();
    }));
  }

  void close_overdue(Clients& clients, std::chrono::seconds allowed) noexcept {
    const auto ticks = static_cast<std::uint64_t>(allowed / tick);
    while (!clients.empty() && now_ - clients.front().since_ > ticks) {
      Client& client = clients.front();
      if (!client.pause_) {
        close(client);
        continue;
      }
      begin_timeout(client, client.standing_);  // it is the server that makes it wait
    }
  }

  void end_if_done() noexcept {
    if (!stopping_ || size() > 0) return;
    ready_.close();
    timer_.cancel();
    pause_timer_.cancel();
  }

  const DoorKind kind_;
  DecisionStats& stats_;
  const std::shared_ptr<const Credentials> credentials_;
  std::uint64_t credentials_number_;  // by which the strangers were found
  const std::chrono::seconds idle_max_;
  const std::chrono::seconds patience_;
  const std::size_t connections_max_;
  const std::size_t strangers_max_;
  const std::string_view refusal_;
  const std::function<void(ReadySet::Ready)> serve_;
  const std::function<void()> on_tick_;
  ReadySet ready_;
  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer pause_timer_;
  const HandlerMemory tick_memory_;
  const HandlerMemory pause_memory_;
  const HandlerMemory resume_memory_;
  std::size_t opened_ = 0;
  bool ticking_ = false;
  bool pausing_ = false;   // pause_timer_ runs
  bool resuming_ = false;  // serve_resumed() will be called
  bool stopping_ = false;
  std::uint64_t now_ = 0;                      // [ticks]
  std::uint64_t hears_until_ = 0;              // [ticks] when it stops, what is on its way
  const HashSecret secret_ = random_secret();  // of sources
  Crowd crowd_;                                // outlives its strangers
  std::array<Clients, 3> lists_;               // by Standing
  Pauses pauses_;
  ReadySet::Places resumed_;
};

}  // namespace headgate::server
