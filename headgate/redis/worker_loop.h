// The event loop of a worker, with everything that only its thread uses.
//
// Any of its handlers may run out of memory, and then leaves its work half done. So std::bad_alloc
// always leaves run(), and the worker makes a new loop.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headgate/redis/clock.h"
#include "headgate/redis/deadlines.h"
#include "headgate/redis/denials.h"
#include "headgate/redis/exact.h"
#include "headgate/redis/last_fault.h"
#include "headgate/redis/lease/leasing.h"
#include "headgate/redis/options.h"
#include "headgate/redis/router.h"
#include "headgate/redis/taking.h"

namespace headgate::redis {

class WorkerLoop {
 public:
  // What outlives the loop, and is used by other threads, too.
  struct Shared {
    const Options& options;
    KnownClock& clock;
    Denials& denials;
    LeaseTable& leases;
    LastFault& fault;
  };
  // `take_new`: returns what was handed over since the last time. Throws std::bad_alloc.
  WorkerLoop(const Shared& shared, std::function<std::vector<std::shared_ptr<Taking>>()> take_new);
  WorkerLoop(const WorkerLoop&) = delete;
  WorkerLoop& operator=(const WorkerLoop&) = delete;

  // Until stop(); then finishes what was handed over and gives back what was taken ahead, which
  // takes Options::patience() at most. Calls `after_each()` after each event before that. Throws
  // std::bad_alloc, or boost::system::system_error if no thread can be had that resolves names;
  // then run() must not be called again.
  template <class AfterEach>
  void run(const AfterEach& after_each) {
    router_.start();
    begin_new();
    while (io_.run_one() > 0) after_each();
    finish();
  }

  // As Router.
  [[nodiscard]] Link::Time good_until() const noexcept { return router_.good_until(); }

  // ---- for any thread. They throw std::bad_alloc, but stop() does not.

  // Something was handed over.
  void begin_soon();
  // Takes more units of a leased key.
  void ask_ahead_soon(std::string key);
  void stop() noexcept { io_.stop(); }  // REQUIRES: it was not called before

 private:
  void finish();
  void begin_new();

  Shared shared_;
  const std::function<std::vector<std::shared_ptr<Taking>>()> take_new_;
  boost::asio::io_context io_{1};
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Router router_;
  Exact exact_;
  Leasing leasing_;
  const Taking::Deciders deciders_;
  // Of the calls that are not patient, and of those that are.
  Deadlines hasty_;
  Deadlines patient_;
};

}  // namespace headgate::redis
