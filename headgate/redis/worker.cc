#include "headgate/redis/worker.h"

#include <chrono>
#include <csignal>
#include <new>
#include <string>
#include <utility>

namespace headgate::redis {
namespace {

using Steady = std::chrono::steady_clock;

// Between attempts to make a loop while there is no memory, or no thread.
constexpr std::chrono::milliseconds rest{20};

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

std::string no_thread(const std::string& why) { return "a thread for it can't be started: " + why; }

// The time in which other threads may use the loop.
class Worker::Use {
 public:
  Use(Worker& worker, WorkerLoop& loop) : worker_(worker) {
    const std::lock_guard lock(worker_.lock_);
    worker_.loop_ = &loop;
    if (worker_.stops_) loop.stop();
  }
  ~Use() {
    const std::lock_guard lock(worker_.lock_);
    worker_.loop_ = nullptr;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Worker& worker_;
};

Worker::Worker(const Options& options, KnownClock& clock, Denials& denials, LeaseTable& leases)
    : options_(options),
      clock_(clock),
      shared_{options, clock, denials, leases, fault_},
      thread_(start([this] { run(); })) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(lock_);
    stops_ = true;
    if (loop_ != nullptr) loop_->stop();
  }
  thread_.join();
  complete_new();
}

void Worker::run() noexcept {
  while (!run_loop() && !stops()) {
    complete_new();
    std::this_thread::sleep_for(rest);
  }
}

bool Worker::run_loop() noexcept {
  try {
    WorkerLoop loop(shared_, [this] { return take_new(); });
    const Use use(*this, loop);
    loop.run([&] { good_until_.store(loop.good_until(), std::memory_order_relaxed); });
    return true;
  } catch (const std::bad_alloc&) {
    note_failure([] { return std::string("no memory"); });
  } catch (const boost::system::system_error& error) {
    // A loop needs descriptors, too.
    const bool no_thread_left = error.code() == std::errc::resource_unavailable_try_again;
    note_failure([&] {
      return no_thread_left ? no_thread(error.code().message()) : std::string(error.what());
    });
  }
  return false;
}

template <class Text>
void Worker::note_failure(const Text& why) noexcept {
  good_until_.store(Link::Time::min(), std::memory_order_relaxed);
  try {
    fault_.note(why());
  } catch (const std::bad_alloc&) {
  }
}

bool Worker::stops() noexcept {
  const std::lock_guard lock(lock_);
  return stops_;
}

void Worker::take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
                  store::Completion done) {
  auto taking = std::make_shared<Taking>(bundles, now, done, Steady::now(), options_, clock_);
  const std::lock_guard lock(lock_);
  const bool is_first = inbox_.empty();
  inbox_.push_back(std::move(taking));
  if (!is_first || loop_ == nullptr) return;  // a new loop begins with what is there
  try {
    loop_->begin_soon();
  } catch (const std::bad_alloc&) {
    inbox_.pop_back();
    throw;
  }
}

void Worker::ask_ahead(std::string_view key) {
  const std::lock_guard lock(lock_);
  if (loop_ != nullptr) loop_->ask_ahead_soon(std::string(key));
}

RedisStatus Worker::status() const {
  return {Steady::now() <= good_until_.load(std::memory_order_relaxed), fault_.text()};
}

std::vector<std::shared_ptr<Taking>> Worker::take_new() noexcept {
  const std::lock_guard lock(lock_);
  return std::exchange(inbox_, {});
}

void Worker::complete_new() noexcept {
  for (const std::shared_ptr<Taking>& taking : take_new()) taking->complete();
}

}  // namespace headgate::redis
