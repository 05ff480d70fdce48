// Takes units of leased keys ahead from Redis, and decides what waits for them.
//
// One ask of a key is under way at a time. The requests that wait for it are decided by Redis in
// the same step, so that none is denied because another process holds units. What is not used lies
// idle for half a second, and is then given back; at the end of the process all is.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/redis/clock.h"
#include "headgate/redis/last_fault.h"
#include "headgate/redis/lease/lease_call.h"
#include "headgate/redis/lease/lease_table.h"
#include "headgate/redis/options.h"
#include "headgate/redis/part.h"
#include "headgate/redis/router.h"

namespace headgate::redis {

// Used by one thread, apart from the table. May throw std::bad_alloc.
class Leasing {
 public:
  // All outlive this. The table may have leases of a Leasing before, which ran out of memory.
  Leasing(boost::asio::io_context& io, Router& router, KnownClock& clock, LeaseTable& table,
          const Options& options, LastFault& fault);

  // Decides the part, which has one charge, and ends it, perhaps before it returns.
  void decide(std::shared_ptr<Part> part);
  // The part was admitted, and has to be denied after all. Its decision then shows what is left.
  void give_back(Part& part);
  // Takes more units of a key that has become low.
  void ask_ahead(const std::string& key);

  // Begins to give back all that is held, and what Redis gives from now on. To be called when no
  // part waits.
  void give_back_all();
  // After that: whether Redis has answered all of it.
  [[nodiscard]] bool has_given_back() const noexcept { return queues_.empty(); }

 private:
  class AskCall;
  // What waits for one key.
  struct Queue {
    LeaseAsk ask;                              // under way
    std::vector<std::shared_ptr<Part>> asked;  // wait for it
    std::vector<LeaseGroup> groups;            // the spends of `asked`, in their order
    std::vector<std::shared_ptr<Part>> next;   // wait for the one after it
    bool has_refund = false;                   // among those parts
  };
  // A lease of which something may be idle at that time.
  struct Idle {
    std::string key;
    std::uint64_t number;  // of its last ask
    BootClock::time_point at;
  };

  [[nodiscard]] bool decide_here(Part& part, bool is_behind_refund);
  void prepare(const Part& part, const LeaseTerms& terms);
  // Asks for what waits. REQUIRES: no ask of the key is under way.
  void ask(const std::string& key);
  template <class Begin>
  void send(const std::string& key, const Begin& begin);
  void answered(const std::string& key, const LeaseReply& reply);
  void failed(const std::string& key, const std::string& why);
  void go_on(const std::string& key);
  void watch_idle();
  void give_back_idle(BootClock::time_point until);

  Router& router_;
  KnownClock& clock_;
  LeaseTable& table_;
  const Options& options_;
  LastFault& fault_;
  TextMap<Queue> queues_;  // of the keys of which an ask is under way
  std::deque<Idle> idle_;  // in the order of their times
  boost::asio::steady_timer timer_;
  bool is_watching_ = false;
  bool is_ending_ = false;  // all that is not used at once is idle
};

}  // namespace headgate::redis
