#include "headgate/redis/worker_loop.h"

#include <boost/asio/post.hpp>
#include <chrono>
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
      deadline_timer_(io_) {}

WorkerLoop::~WorkerLoop() {
  for (const auto& taking : begun_) taking->complete();
}

void WorkerLoop::begin_soon() {
  boost::asio::post(io_, [this] { begin_new(); });
}

void WorkerLoop::ask_ahead_soon(std::string key) {
  boost::asio::post(io_, [this, key = std::move(key)] { leasing_.ask_ahead(key); });
}

// Each call ends with its answer, or at its deadline.
void WorkerLoop::finish() {
  io_.restart();
  begin_new();
  while (is_taking()) io_.run_one();
}

// Commands of all that were handed over since the last time are sent together.
void WorkerLoop::begin_new() {
  const std::vector<std::shared_ptr<Taking>> taken = take_new_();
  begun_.insert(begun_.end(), taken.begin(), taken.end());
  for (const std::shared_ptr<Taking>& taking : taken) taking->begin(deciders_, shared_.options);
  exact_.flush();
  watch_deadlines();
}

bool WorkerLoop::is_taking() {
  while (!begun_.empty() && begun_.front()->is_complete()) begun_.pop_front();
  return !begun_.empty();
}

void WorkerLoop::watch_deadlines() {
  if (is_watching_ || !is_taking()) return;
  is_watching_ = true;
  deadline_timer_.expires_at(begun_.front()->deadline());
  deadline_timer_.async_wait([this](const boost::system::error_code& error) {
    is_watching_ = false;
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    while (!begun_.empty() && begun_.front()->deadline() <= now) {
      const std::shared_ptr<Taking> taking = std::move(begun_.front());
      begun_.pop_front();
      if (taking->is_complete()) continue;
      shared_.fault.note("Redis did not answer in time");
      if (shared_.options.counts != nullptr) {
        shared_.options.counts->timeouts.fetch_add(1, std::memory_order_relaxed);
      }
      taking->complete();
    }
    watch_deadlines();
  });
}

}  // namespace headgate::redis
