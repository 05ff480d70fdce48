#include "headgate/redis/link.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "headgate/base/random.h"
#include "headgate/net/resp_writer.h"
#include "headgate/redis/module_call.h"
#include "headgate/redis/replies.h"

namespace headgate::redis {
namespace {

// Made at the start: Link::fault() may not run out of memory.
const std::string stalled = "it does not answer in time";

using boost::asio::generic::stream_protocol;
using boost::system::error_code;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds rest_first{20};
constexpr milliseconds rest_longest{1000};
// More than this is not kept for a server that does not read [bytes]: a second of 100,000
// decisions.
constexpr std::size_t unsent_max = std::size_t{32} << 20;
// Received at once, at least [bytes]: the replies to some hundred decisions.
constexpr std::size_t room_least = std::size_t{16} << 10;

// Reports a peer that is gone though no request waits, within half a minute.
void keep_alive(int fd) noexcept {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

// What only a server with headgate's module executes. Another one has no such command, and a user
// without the right to it uses scripts.
constexpr std::string_view probe = "HG.TAKE";

// Receives the replies to AUTH, ROLE and SCRIPT LOAD, or of a sentinel to AUTH and PING.
class Link::Greeting : public Receiver {
 public:
  Greeting(Link& link, std::vector<std::string_view> commands)
      : link_(link), commands_(std::move(commands)) {}

  void receive(std::size_t i, const net::RespReply& reply) override {
    // A sentinel often has no password, and then refuses every one.
    if (commands_[i] == probe) {
      link_.has_module_ = !reply->is_error() || !lacks_module(reply->text);
      return;
    }
    const bool matters = link_.peer_ == Peer::store || commands_[i] != "AUTH";
    if (reply->is_error() && matters) {
      return link_.fail(std::string(commands_[i]) + ": " + std::string(reply->text));
    }
    if (commands_[i] == "ROLE") {
      if (auto fault = fault_of_role(reply)) return link_.fail(*std::move(fault));
    }
    if (i + 1 == commands_.size()) link_.greeted(std::string(reply->text));
  }
  void lost(const std::string&) override {}

 private:
  Link& link_;  // keeps this in waiting_
  std::vector<std::string_view> commands_;
};

template <class Act>
auto Link::handler(Act act) {
  return [self = shared_from_this(), attempt = attempt_, act = std::move(act)](auto&&... results) {
    if (attempt == self->attempt_) act(results...);
  };
}

Link::Link(boost::asio::io_context& io, const Options& options, ServerAddress address,
           std::string_view script, Peer peer)
    : io_(io),
      options_(options),
      address_(std::move(address)),
      script_(script),
      peer_(peer),
      resolver_(io),
      timer_(io),
      watch_timer_(io) {}

void Link::close() {
  fail("the link is closed");
  state_ = State::closed;
  timer_.cancel();
}

const std::string* Link::fault(bool patient) const noexcept {
  const Time until = good_until();
  if (until == Time::max()) return nullptr;
  if (until == Time::min()) return &why_;
  if (patient) return nullptr;
  return Steady::now() > until ? &stalled : nullptr;
}

Link::Time Link::good_until() const noexcept {
  if (state_ == State::closed || (tried_ && state_ != State::ready)) return Time::min();
  return waiting_.empty() ? Time::max() : waiting_.front().since + options_.timeout;
}

// ---- connecting

void Link::connect() {
  ++attempt_;
  state_ = State::connecting;
  if (address_.is_unix()) {
    return connect_to_one_of({boost::asio::local::stream_protocol::endpoint(address_.port)});
  }
  // Takes its time, as long as 5 s if the first name server is down: an attempt that gave it up
  // would only be followed by another one that begins with the same.
  resolver_.async_resolve(
      address_.host, address_.port,
      handler([this](const error_code& error,
                     const boost::asio::ip::tcp::resolver::results_type& found) {
        if (error) return fail("its name cannot be resolved: " + error.message());
        std::vector<stream_protocol::endpoint> endpoints;
        for (const auto& entry : found) endpoints.emplace_back(entry.endpoint());
        // Each attempt begins with another one: the first may be silent, or a replica.
        std::rotate(endpoints.begin(), endpoints.begin() + failures_ % endpoints.size(),
                    endpoints.end());
        connect_to_one_of(std::move(endpoints));
      }));
}

void Link::connect_to_one_of(std::vector<stream_protocol::endpoint> endpoints) {
  timer_.expires_after(link_patience);
  timer_.async_wait(handler([this](const error_code& error) {
    if (!error && state_ == State::connecting) fail("no connection within a second");
  }));
  connect_to(std::move(endpoints), 0);
}

// Tries the endpoints from the one at `next` on.
void Link::connect_to(std::vector<stream_protocol::endpoint> endpoints, std::size_t next) {
  socket_.emplace(io_);
  const stream_protocol::endpoint endpoint = endpoints[next++];
  socket_->async_connect(
      endpoint, handler([this, endpoints = std::move(endpoints), next](const error_code& error) {
        if (!error) return begin();
        if (next < endpoints.size()) return connect_to(endpoints, next);
        fail("it cannot be reached: " + error.message());
      }));
}

void Link::begin() {
  error_code error;
  socket_->non_blocking(true, error);
  const Login login = options_.login.get();
  if (!address_.is_unix()) {
    keep_alive(socket_->native_handle());
    if (login.tls) {
      const std::string& name = options_.server_name.empty() ? address_.host : options_.server_name;
      tls_.emplace(login.tls->connect(socket_->native_handle(), name));
    }
  }
  is_open_ = true;
  greet(login.password);
  wait_to_read();
  flush();
}

void Link::greet(std::string_view password) {
  std::string bytes;
  net::RespWriter out(bytes);
  std::vector<std::string_view> commands;
  if (!password.empty()) {
    commands.emplace_back("AUTH");
    out.command(options_.auth(password));
  }
  if (peer_ == Peer::sentinel) {
    commands.emplace_back("PING");
    out.command({"PING"});
  } else {
    // In a cluster, a replica redirects to its primary.
    if (!options_.cluster) {
      commands.emplace_back("ROLE");
      out.command({"ROLE"});
    }
    // Under a quota of 0 a cost of 0 reads and writes nothing.
    commands.emplace_back(probe);
    out.command({probe, options_.prefix, "0/1s", "0"});
    commands.emplace_back("SCRIPT LOAD");
    out.command({"SCRIPT", "LOAD", script_});
  }
  unsent_.insert(0, bytes);
  const std::size_t replies = commands.size();
  waiting_.push_front(
      {std::make_shared<Greeting>(*this, std::move(commands)), 0, replies, Steady::now()});
}

void Link::greeted(std::string sha) {
  sha_ = std::move(sha);
  state_ = State::ready;
  tried_ = true;
  failures_ = 0;
  timer_.cancel();
}

void Link::fail(std::string why) {
  if (state_ == State::resting || state_ == State::closed) return;
  ++attempt_;
  state_ = State::resting;
  tls_.reset();
  socket_.reset();
  reader_ = net::RespReplyReader();
  sent_ = received_begin_ = received_end_ = 0;
  has_module_ = is_open_ = is_flush_posted_ = is_watching_ = is_waiting_to_write_ = false;
  resolver_.cancel();
  watch_timer_.cancel();
  const milliseconds rest = std::min(rest_first * (1 << std::min(failures_, 10u)), rest_longest);
  ++failures_;
  timer_.expires_after(rest / 2 +
                       milliseconds(random_secret().k0 % static_cast<std::uint64_t>(rest.count())));
  timer_.async_wait(handler([this](const error_code& error) {
    if (!error && state_ == State::resting) connect();
  }));
  lose_all(why);
}

void Link::lose_all(std::string_view why) {
  tried_ = true;
  why_ = address_.text() + ": ";
  why_ += why;
  unsent_.clear();
  const auto lost = std::exchange(waiting_, {});
  const std::string words = why_;
  for (const Waiting& request : lost) request.receiver->lost(words);
}

// ---- requests

void Link::send(std::string_view commands, std::size_t ignored, std::size_t replies,
                std::shared_ptr<Receiver> receiver) {
  if (unsent_.size() - sent_ + commands.size() > unsent_max) {
    // Not at once, because the caller is still sending.
    return boost::asio::post(
        io_, [receiver = std::move(receiver), why = address_.text() + ": it does not read"] {
          receiver->lost(why);
        });
  }
  unsent_ += commands;
  waiting_.push_back({std::move(receiver), ignored, replies, Steady::now()});
  watch();
  flush_soon();
}

void Link::send_script(std::string_view arguments, std::size_t count, bool whole, bool asking,
                       std::shared_ptr<Receiver> receiver) {
  std::string command;
  command.reserve(arguments.size() + 128);
  net::RespWriter out(command);
  if (asking) out.command({"ASKING"});
  out.array(count + 2);
  const bool known = !whole && !sha_.empty();
  out.bulk(known ? "EVALSHA" : "EVAL");
  out.bulk(known ? std::string_view(sha_) : script_);
  command += arguments;
  send(command, asking ? 1 : 0, 1, std::move(receiver));
}

// While requests wait, looks from time to time how long the oldest one has waited.
void Link::watch() {
  if (is_watching_) return;
  is_watching_ = true;
  watch_timer_.expires_after(link_patience / 2);
  watch_timer_.async_wait(handler([this](const error_code& error) {
    if (error) return;
    is_watching_ = false;
    if (waiting_.empty()) return;
    if (Steady::now() - waiting_.front().since > link_patience) {
      return socket_ ? fail("it does not answer") : lose_all("its name is not resolved yet");
    }
    watch();
  }));
}

void Link::flush_soon() {
  if (is_flush_posted_ || !is_open_) return;
  is_flush_posted_ = true;
  boost::asio::post(io_, handler([this] {
                      is_flush_posted_ = false;
                      flush();
                    }));
}

void Link::flush() {
  if (is_waiting_to_write_) return;
  while (sent_ < unsent_.size()) {
    const std::string_view bytes = std::string_view(unsent_).substr(sent_);
    const ssize_t sent =
        tls_ ? tls_->send(bytes)
             : ::send(socket_->native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return fail(net::connection_fault(tls_));
      if (!tls_ || tls_->waits_to_write()) wait_to_write();
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  unsent_.clear();
  sent_ = 0;
}

void Link::wait_to_write() {
  is_waiting_to_write_ = true;
  socket_->async_wait(Socket::wait_write, handler([this](const error_code& error) {
                        if (error) return fail("the connection is lost: " + error.message());
                        is_waiting_to_write_ = false;
                        flush();
                      }));
}

void Link::wait_to_read() {
  socket_->async_wait(Socket::wait_read, handler([this](const error_code& error) {
                        if (error) return fail("the connection is lost: " + error.message());
                        receive();
                      }));
}

void Link::receive() {
  for (;;) {
    if (received_.size() - received_end_ < room_least) {
      received_.erase(0, received_begin_);
      received_end_ -= std::exchange(received_begin_, 0);
      received_.resize(std::max(received_end_ + room_least, 2 * received_end_));
    }
    const std::span<char> room(received_.data() + received_end_, received_.size() - received_end_);
    const ssize_t got =
        tls_ ? tls_->receive(room) : ::recv(socket_->native_handle(), room.data(), room.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return fail(net::connection_fault(tls_));
      break;
    }
    if (got == 0) return fail("it closed the connection");
    received_end_ += static_cast<std::size_t>(got);
    if (!dispatch()) return;
    if (!tls_ && static_cast<std::size_t>(got) < room.size()) break;
  }
  wait_to_read();
  flush();  // TLS may have waited for what was received
}

bool Link::dispatch() {
  const std::uint64_t attempt = attempt_;
  for (;;) {
    const std::string_view bytes(received_.data() + received_begin_,
                                 received_end_ - received_begin_);
    switch (reader_.read(bytes)) {
      case net::RespReplyReader::Found::more:
        return true;
      case net::RespReplyReader::Found::fault:
        fail(reader_.fault());
        return false;
      case net::RespReplyReader::Found::reply:
        break;
    }
    if (waiting_.empty()) {
      fail("it sent a reply to no request");
      return false;
    }
    Waiting& first = waiting_.front();
    if (first.ignored > 0) {
      --first.ignored;
    } else {
      const std::shared_ptr<Receiver> receiver = first.receiver;
      const std::size_t i = first.next++;
      const bool is_last = first.next == first.replies;
      if (is_last) waiting_.pop_front();
      receiver->receive(i, reader_.reply());
      if (attempt != attempt_) return false;
    }
    received_begin_ += reader_.used();
  }
}

}  // namespace headgate::redis
