// Asks sentinels which server is the primary.
//
// One that answers is asked again every second, so that a failover is noticed although the former
// primary still answers. While the primary cannot be used, they are asked in turn, ten times a
// second.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headgate/base/server_address.h"
#include "headgate/net/resp_reply_reader.h"
#include "headgate/redis/link.h"
#include "headgate/redis/options.h"

namespace headgate::redis {

// Everything happens in the thread that runs `io`. May throw std::bad_alloc.
class Sentinels {
 public:
  struct Observer {
    std::function<void(const ServerAddress& primary)> found;  // the same one again, too
    std::function<void(const std::string& why)> failed;       // no sentinel has named one
  };

  // `io` and `options` outlive this; Options::nodes are the sentinels.
  Sentinels(boost::asio::io_context& io, const Options& options, Observer observer);

  void start();

  // The primary cannot be used.
  void ask_soon();

 private:
  class Reply;

  void ask_one();
  void ask(std::size_t link);
  void answered(std::size_t link, const net::RespReply& reply);
  void lost(const std::string& why);
  void wait(std::chrono::milliseconds pause);

  boost::asio::io_context& io_;
  const Options& options_;
  const Observer observer_;
  const std::string command_;
  std::vector<std::shared_ptr<Link>> links_;
  boost::asio::steady_timer timer_;
  // The first answer to what is asked together counts.
  std::uint64_t round_ = 0;
  std::size_t pending_ = 0;  // of this round
  std::size_t last_ = 0;     // the link that has answered last
  bool in_hurry_ = false;
};

}  // namespace headgate::redis
