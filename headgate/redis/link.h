// One connection to one Redis server, which all requests of the process share as a pipeline.
//
// It connects at once, and again whenever it is lost: after 20 ms, then after twice as long each
// time, up to a second, and each time after a random part of that, so that the processes of a
// machine do not all come back at once.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/net/tls.h"
#include "headgate/redis/options.h"

namespace headgate::redis {

// Waits for the replies to what was sent together. Exactly one of the last reply and lost() ends
// the wait.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // `i`: 0 for the first of the replies. The reply is valid during the call.
  virtual void receive(std::size_t i, const net::RespReply& reply) = 0;
  // No reply will come. What was sent may have been executed, or not. `why`: a sentence.
  virtual void lost(const std::string& why) = 0;
};

// Everything happens in the thread that runs `io`, handlers included. May throw std::bad_alloc.
class Link : public std::enable_shared_from_this<Link> {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Peer : std::uint8_t { store, sentinel };

  // `io` and `options` outlive the link. `script` is loaded on every connection to a store.
  Link(boost::asio::io_context& io, const Options& options, ServerAddress address,
       std::string_view script, Peer peer = Peer::store);

  void start() { connect(); }
  // Ends the connection for good. Requests that wait are lost.
  void close();
  // The server can no longer be used: connects anew after a rest, since another one may have its
  // address now. Requests that wait are lost.
  void leave(std::string why) { fail(std::move(why)); }

  [[nodiscard]] const ServerAddress& address() const noexcept { return address_; }

  // Whether the server of this connection has headgate's module, as far as is known.
  [[nodiscard]] bool has_module() const noexcept { return has_module_; }
  void forget_module() noexcept { has_module_ = false; }

  // Why nothing should be sent now: the server cannot be reached, or it owes a reply for longer
  // than a request may take, unless the sender is patient. Null if something may be sent, which is
  // also so during the first attempt to connect.
  [[nodiscard]] const std::string* fault(bool patient = false) const noexcept;
  // Until when fault() stays null if nothing is sent and received meanwhile; Time::min(): it is
  // not.
  [[nodiscard]] Time good_until() const noexcept;

  // Sends commands, whose first `ignored` replies are not passed on. Sends nothing before the
  // current turn of the event loop ends, so that requests of the same turn share a system call.
  void send(std::string_view commands, std::size_t ignored, std::size_t replies,
            std::shared_ptr<Receiver> receiver);
  // Sends EVALSHA, or with `whole` EVAL, of the script. `arguments`: those behind the script, each
  // as a bulk string, `count` in number. `asking`: sends ASKING before.
  void send_script(std::string_view arguments, std::size_t count, bool whole, bool asking,
                   std::shared_ptr<Receiver> receiver);

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  class Greeting;
  struct Waiting {
    std::shared_ptr<Receiver> receiver;
    std::size_t ignored;
    std::size_t replies;
    Time since;
    std::size_t next = 0;  // the index of the next reply that is passed on
  };
  enum class State : std::uint8_t {
    connecting,  // until the greeting is answered
    ready,
    resting,  // until the next attempt
    closed,
  };

  void connect();
  void connect_to_one_of(std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints);
  void connect_to(std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints,
                  std::size_t next);
  void begin();
  void greet(std::string_view password);
  void greeted(std::string sha);
  // Ends this connection; the next one is made after a rest.
  void fail(std::string why);
  // Nothing is sent until the attempt that goes on, or the next one, succeeds.
  void lose_all(std::string_view why);

  void watch();
  void wait_to_read();
  void wait_to_write();
  void flush_soon();
  void flush();
  void receive();
  // Passes on the replies at the beginning of what was received. Returns false if this connection
  // has ended.
  [[nodiscard]] bool dispatch();

  // The handler of an asynchronous operation of this connection: does nothing after its end.
  template <class Act>
  [[nodiscard]] auto handler(Act act);

  boost::asio::io_context& io_;
  const Options& options_;
  const ServerAddress address_;
  const std::string_view script_;
  const Peer peer_;

  State state_ = State::connecting;
  std::string why_;            // of the last failure, or of the stall
  bool tried_ = false;         // the first attempt has ended, or takes too long
  std::uint64_t attempt_ = 0;  // the number of this connection
  unsigned failures_ = 0;      // since the link was ready
  std::string sha_;            // of the script

  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;        // of the attempt, or of the rest
  boost::asio::steady_timer watch_timer_;  // of the oldest request
  std::optional<Socket> socket_;
  std::optional<net::TlsStream> tls_;
  net::RespReplyReader reader_;

  std::deque<Waiting> waiting_;  // in the order of their replies
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_
  std::string received_;  // its size is the room; the bytes are from received_begin_
  std::size_t received_begin_ = 0;
  std::size_t received_end_ = 0;
  bool has_module_ = false;
  bool is_open_ = false;  // the socket is connected
  bool is_watching_ = false;
  bool is_flush_posted_ = false;
  bool is_waiting_to_write_ = false;
};

}  // namespace headgate::redis
