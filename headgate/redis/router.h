// Sends calls to the server that has their slot, and follows a cluster whose slots move, or the
// primary that sentinels name.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/redis/link.h"
#include "headgate/redis/options.h"
#include "headgate/redis/sentinels.h"

namespace headgate::redis {

// What is sent for keys of one slot.
class Call {
 public:
  virtual ~Call() = default;

  std::uint16_t slot = 0;
  // Arguments for the script, `count` in number; or with `count` 0 whole commands, of which only
  // the first has keys. As RespWriter writes them.
  std::string bytes;
  std::size_t count = 0;
  std::size_t replies = 1;
  bool patient = false;  // as Link::fault() takes it

  // Called with each reply, if none of them is an error; otherwise, or if Redis cannot be reached,
  // fail() ends the call. `why`: a sentence.
  virtual void answer(std::size_t i, const net::RespReply& reply) = 0;
  virtual void fail(const std::string& why) = 0;
};

// Everything happens in the thread that runs `io`. May throw std::bad_alloc.
class Router {
 public:
  // `io` and `options` outlive the router.
  Router(boost::asio::io_context& io, const Options& options, std::string_view script);

  void start();
  // Never calls the functions of `call` before it returns.
  void send(std::shared_ptr<Call> call);

  // Whether the server that has the slot has headgate's module, and the user may use it.
  [[nodiscard]] bool has_module(std::uint16_t slot) {
    const Link* const link = link_of(slot);
    return link != nullptr && link->has_module();
  }
  // Whether the server that has the slot owes a reply for so long that only patient calls are sent.
  [[nodiscard]] bool is_stalled(std::uint16_t slot) {
    const Link* const link = link_of(slot);
    return link != nullptr && link->fault() != nullptr && link->fault(true) == nullptr;
  }
  void forget_module(std::uint16_t slot) {
    if (Link* const link = link_of(slot)) link->forget_module();
  }

  // Until when some server can be used if nothing happens meanwhile; Link::Time::min(): none can.
  [[nodiscard]] Link::Time good_until() const noexcept;

 private:
  class Attempt;
  class SlotsReply;
  struct Way {
    bool whole = false;   // EVAL instead of EVALSHA
    bool asking = false;  // after ASK
    unsigned tries = 0;
  };

  Link& link_to(const ServerAddress& address);
  // The server of the slot, or while that is unknown any server that answers. nullptr: no sentinel
  // has named one yet.
  Link* link_of(std::uint16_t slot);
  void send(std::shared_ptr<Call> call, Link& link, Way way);
  void refused(std::shared_ptr<Call> call, Link& link, Way way, const std::string& error);
  // A server cannot be used, or refuses what a primary takes: looks where the keys are now.
  void look_again();
  void follow(const ServerAddress& primary);
  void has_no_primary(const std::string& why);
  void refresh_soon();
  void refresh();
  void read_slots(const Link& from, const net::RespReply& reply);
  void remove_gone();

  boost::asio::io_context& io_;
  const Options& options_;
  const std::string_view script_;
  std::vector<std::shared_ptr<Link>> links_;  // at first those of Options::nodes
  std::vector<Link*> slots_;                  // of a cluster: one per slot, null: unknown
  std::optional<Sentinels> sentinels_;        // then links_ has at most one, to the primary
  std::vector<std::shared_ptr<Call>> early_;  // until the sentinels have answered once
  std::string no_primary_;                    // why links_ is empty, if they have
  boost::asio::steady_timer refresh_timer_;
  std::size_t asked_ = 0;  // the link that was asked last
  bool is_refreshing_ = false;
};

}  // namespace headgate::redis
