// The calls that wait for Redis, until their deadlines.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>

#include "headgate/redis/counts.h"
#include "headgate/redis/last_fault.h"
#include "headgate/redis/taking.h"

namespace headgate::redis {

// Used by the thread that runs `io`. May throw std::bad_alloc.
class Deadlines {
 public:
  // All outlive this. `counts`: null: nothing is counted.
  Deadlines(boost::asio::io_context& io, RedisCounts* counts, LastFault& fault)
      : counts_(counts), fault_(fault), timer_(io) {}
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;
  // Completes what is unfinished.
  ~Deadlines();

  // REQUIRES: its deadline is not before that of the last one.
  void add(std::shared_ptr<Taking> taking);
  // Completes each call at its deadline. To be called after add().
  void watch();
  // Whether some call is not completed.
  [[nodiscard]] bool is_taking();

 private:
  // What is complete is dropped when there are so many calls, and then each time their number has
  // doubled: one that waits long keeps no others.
  static constexpr std::size_t dropped_at_least = 64;

  RedisCounts* const counts_;
  LastFault& fault_;
  std::deque<std::shared_ptr<Taking>> begun_;  // in the order of their deadlines
  std::size_t dropped_at_ = dropped_at_least;
  boost::asio::steady_timer timer_;
  bool is_watching_ = false;
};

}  // namespace headgate::redis
