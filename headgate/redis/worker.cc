#include "headgate/redis/worker.h"

#include <boost/asio/post.hpp>
#include <csignal>
#include <new>
#include <utility>

#include "headgate/redis/script.h"

namespace headgate::redis {
namespace {

using Steady = std::chrono::steady_clock;

// Threads that are started meanwhile take no signals: those of the process are for the thread that
// waits for them.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

template <class Run>
std::thread start(Run run) {
  const NoSignals none;
  return std::thread(std::move(run));
}

}  // namespace

Worker::Worker(const Options& options, KnownClock& clock, Denials& denials, LeaseTable& leases)
    : options_(options),
      clock_(clock),
      work_(io_.get_executor()),
      router_(io_, options_, take_script()),
      exact_(router_, clock_, options_),
      leasing_(io_, router_, clock_, leases, options_,
               [this](const std::string& why) { exact_.note_fault(why); }),
      deciders_{exact_, leasing_, denials},
      deadline_timer_(io_),
      thread_(start([this] { run(); })) {}

Worker::~Worker() {
  boost::asio::post(io_, [this] {
    begin_new();
    leasing_.close();
    router_.close();
    deadline_timer_.cancel();
    for (const auto& taking : begun_) taking->complete();
    work_.reset();
  });
  thread_.join();
}

void Worker::run() {
  router_.start();
  for (;;) {
    try {
      while (io_.run_one() > 0) publish();
      return;
    } catch (const std::bad_alloc&) {
      // What the handler worked on is completed at its deadline.
    }
  }
}

void Worker::take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
                  store::Completion done) {
  auto taking =
      std::make_shared<Taking>(bundles, now, done, Steady::now() + options_.timeout, clock_);
  const std::lock_guard lock(inbox_lock_);
  const bool is_first = inbox_.empty();
  inbox_.push_back(std::move(taking));
  if (!is_first) return;
  try {
    boost::asio::post(io_, [this] { begin_new(); });
  } catch (const std::bad_alloc&) {
    inbox_.pop_back();
    throw;
  }
}

void Worker::ask_ahead(std::string_view key) {
  boost::asio::post(io_, [this, key = std::string(key)] { leasing_.ask_ahead(key); });
}

void Worker::publish() noexcept {
  good_until_.store(router_.good_until(), std::memory_order_relaxed);
}

RedisStatus Worker::status() const {
  return {Steady::now() <= good_until_.load(std::memory_order_relaxed), exact_.fault()};
}

// All that were handed over since the last time: their commands are sent together.
void Worker::begin_new() {
  std::vector<std::shared_ptr<Taking>> taken;
  {
    const std::lock_guard lock(inbox_lock_);
    taken.swap(inbox_);
  }
  for (const std::shared_ptr<Taking>& taking : taken) {
    try {
      begun_.push_back(taking);
      taking->begin(deciders_, options_);
    } catch (const std::bad_alloc&) {
      taking->complete();
    }
  }
  try {
    exact_.flush();
  } catch (const std::bad_alloc&) {
    // What was gathered is completed at its deadline.
  }
  watch_deadlines();
}

void Worker::watch_deadlines() {
  while (!begun_.empty() && begun_.front()->is_complete()) begun_.pop_front();
  if (is_watching_ || begun_.empty()) return;
  is_watching_ = true;
  deadline_timer_.expires_at(begun_.front()->deadline());
  deadline_timer_.async_wait([this](const boost::system::error_code& error) {
    is_watching_ = false;
    if (error) return;
    const auto now = Steady::now();
    while (!begun_.empty() && begun_.front()->deadline() <= now) {
      const std::shared_ptr<Taking> taking = std::move(begun_.front());
      begun_.pop_front();
      if (taking->is_complete()) continue;
      exact_.note_fault("Redis did not answer in time");
      if (options_.counts != nullptr) {
        options_.counts->timeouts.fetch_add(1, std::memory_order_relaxed);
      }
      taking->complete();
    }
    watch_deadlines();
  });
}

}  // namespace headgate::redis
