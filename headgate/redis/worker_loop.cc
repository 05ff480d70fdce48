#include "headgate/redis/worker_loop.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <new>
#include <utility>

#include "headgate/redis/script.h"

namespace headgate::redis {

WorkerLoop::WorkerLoop(const Shared& shared,
                       std::function<std::vector<std::shared_ptr<Taking>>()> take_new)
    : shared_(shared),
      take_new_(std::move(take_new)),
      work_(io_.get_executor()),
      router_(io_, shared.options, take_script()),
      exact_(router_, shared.clock, shared.options, shared.fault),
      leasing_(io_, router_, shared.clock, shared.leases, shared.options, shared.fault),
      deciders_{exact_, leasing_, shared.denials},
      hasty_(io_, shared.options.counts, shared.fault),
      patient_(io_, shared.options.counts, shared.fault) {}

void WorkerLoop::begin_soon() {
  boost::asio::post(io_, [this] { begin_new(); });
}

void WorkerLoop::ask_ahead_soon(std::string key) {
  boost::asio::post(io_, [this, key = std::move(key)] { leasing_.ask_ahead(key); });
}

// Each call ends with its answer, or at its deadline; until then, it changes what is held.
void WorkerLoop::finish() {
  const auto end = std::chrono::steady_clock::now() + shared_.options.patience();
  io_.restart();
  begin_new();
  while (hasty_.is_taking() || patient_.is_taking()) io_.run_one();
  leasing_.give_back_all();
  while (!leasing_.has_given_back() && io_.run_one_until(end) > 0) {
  }
}

// Commands of all that were handed over since the last time are sent together.
void WorkerLoop::begin_new() {
  const std::vector<std::shared_ptr<Taking>> taken = take_new_();
  try {
    for (const std::shared_ptr<Taking>& taking : taken) {
      (taking->is_patient() ? patient_ : hasty_).add(taking);
    }
  } catch (const std::bad_alloc&) {  // nobody else has those that were not added
    for (const std::shared_ptr<Taking>& taking : taken) taking->complete();
    throw;
  }
  for (const std::shared_ptr<Taking>& taking : taken) taking->begin(deciders_, shared_.options);
  exact_.flush();
  hasty_.watch();
  patient_.watch();
}

}  // namespace headgate::redis
