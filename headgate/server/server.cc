#include "headgate/server/server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "headgate/gate/table_options.h"
#include "headgate/server/accept_log.h"
#include "headgate/server/passed_sockets.h"
#include "headgate/server/service_manager.h"
#include "headgate/server/stop_time.h"
#include "headgate/server/unix_time.h"
#include "headgate/server/worker.h"

namespace headgate::server {
namespace {

using Clock = std::chrono::steady_clock;

// The interval at which a stop checks whether the workers have ended: adds a delay that is not
// noticed, and costs nothing.
constexpr std::chrono::milliseconds check_interval{20};

// The interval at which the main thread looks whether there is something to log, and whether
// overrides were changed by another process or have ended.
constexpr std::chrono::milliseconds look_interval{1000};

// How much longer than its requests the server takes to end, at most: logs are written, threads
// end.
constexpr std::chrono::seconds stop_margin{5};

// The signals that the server handles, blocked in this thread and in those that it starts.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() {
    // Discards signals that came during the stop: unblocked, they would end the program as a
    // failure.
    while (wait_for(std::chrono::milliseconds(0))) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Returns std::nullopt if no signal came within that time.
  [[nodiscard]] std::optional<int> wait_for(std::chrono::milliseconds time) const {
    const timespec limit{static_cast<time_t>(time.count() / 1000),
                         static_cast<long>(time.count() % 1000 * 1'000'000)};
    const int signal = sigtimedwait(&set_, nullptr, &limit);
    return signal > 0 ? std::optional(signal) : std::nullopt;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

// Whether the signal stops the server.
bool ends(int signal) noexcept { return signal == SIGINT || signal == SIGTERM; }

// Raises the limit of open files, since each connection is one, to the maximum. If that is less
// than all listeners may use, lowers connections_max to an equal share, so that no listener can use
// up the descriptors of the others.
void share_descriptors(ServerOptions& options) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur == RLIM_INFINITY || options.listening.empty()) return;

  const unsigned threads = options.door.threads;
  // For files and libraries (32), per thread epoll and timers (16), and per thread and listener a
  // socket and its epoll.
  const std::size_t reserve = 32 + threads * (16 + 2 * options.listening.size());
  const std::size_t shared = files.rlim_cur > reserve ? files.rlim_cur - reserve : 0;
  const std::size_t share = std::max<std::size_t>(shared / (threads * options.listening.size()), 1);
  if (share >= options.door.connections_max) return;
  spdlog::warn(
      "{} connections at each listener and thread instead of {}, since only {} files may be open",
      share, options.door.connections_max, files.rlim_cur);
  options.door.connections_max = share;
}

// Memory that is short while the server runs ends nothing but the step that needs it. Returns
// whether there was enough for `act`; otherwise logs for what there was none.
template <class Act>
bool attempt(std::string_view purpose, const Act& act) noexcept {
  try {
    act();
    return true;
  } catch (const std::exception&) {  // only std::bad_alloc
    spdlog::error("no memory to {}", purpose);
    return false;
  }
}

void log_warnings(Engine& engine) {
  const auto in_force = engine.in_force();
  for (const policy::Fault& warning : in_force->policies().warnings()) {
    spdlog::warn("{}", warning.text());
  }
  const store::TableStats table = engine.table().stats();
  const std::string size = gate::size_warning(table, gate::table_options(in_force->policies()));
  if (!size.empty()) spdlog::warn("{}", size);
  const std::string division = gate::division_warning(table, in_force->policies());
  if (!division.empty()) spdlog::warn("{}: {}", engine.config(), division);
}

std::string policies_of(Engine& engine) {
  const std::size_t count = engine.in_force()->policies().policies().size();
  return count == 1 ? "1 policy" : std::to_string(count) + " policies";
}

void warn_of_exposed_secrets(const Credentials& credentials) {
  for (const std::string& warning : credentials.warnings()) spdlog::warn("{}", warning);
}

void reload(Credentials& credentials, Engine& engine) {
  const auto reloaded = credentials.reload();
  if (!reloaded) {
    engine.count_refused_reload();
    spdlog::error("{}", reloaded.error());
    spdlog::error("the tokens and certificates before it stay in force");
  } else if (*reloaded) {
    spdlog::info("tokens and certificates were read again");
    attempt("warn of exposed ones", [&] { warn_of_exposed_secrets(credentials); });
  }
}

// Logs the wrong tokens that callers have shown, if any, and not more often than is useful.
class WrongTokenLog {
 public:
  explicit WrongTokenLog(Credentials& credentials) : credentials_(credentials) {}

  void look() {
    if (Clock::now() < next_) return;
    const Credentials::Wrong wrong = credentials_.take_wrong_tokens();
    if (wrong.count == 0) return;
    next_ = Clock::now() + apart;
    spdlog::warn("{} wrong token{}, the last from {}", wrong.count, wrong.count == 1 ? "" : "s",
                 wrong.last_from);
  }

 private:
  // A person who watches the log sees within this time whether it goes on.
  static constexpr std::chrono::seconds apart{10};

  Credentials& credentials_;
  Clock::time_point next_{};
};

void reload(Engine& engine) {
  if (const auto reloaded = engine.reload()) {
    attempt("log what is in force now", [&] {
      log_warnings(engine);
      spdlog::info("{} is in force now: {}", engine.config(), policies_of(engine));
    });
  } else {
    for (const std::string& fault : reloaded.error()) spdlog::error("{}", fault);
    spdlog::error("{} is refused; the policies before it stay in force", engine.config());
  }
}

void reload(Credentials& credentials, Engine& engine, ServiceManager& service_manager) noexcept {
  constexpr std::string_view notify = "notify the service manager";
  attempt(notify, [&] { service_manager.notify_reloading(); });
  const auto or_refuse = [&](std::string_view purpose, const auto& act) {
    if (!attempt(purpose, act)) engine.count_refused_reload();
  };
  or_refuse("read tokens and certificates again; those before stay in force",
            [&] { reload(credentials, engine); });
  or_refuse("read the policy file again; the policies before stay in force",
            [&] { reload(engine); });
  attempt(notify, [&] { service_manager.notify_ready(); });
}

// Follows the overrides, as far as there is memory. Logs when that begins to be short, and when it
// is not any more.
class OverrideFollower {
 public:
  explicit OverrideFollower(Engine& engine) noexcept : engine_(engine) {}

  void look() noexcept {
    try {
      engine_.follow_overrides(unix_now());
      if (std::exchange(failing_, false)) spdlog::info("changes of overrides are followed again");
    } catch (const std::exception&) {  // only std::bad_alloc
      if (std::exchange(failing_, true)) return;
      spdlog::error("no memory to follow changes of overrides; it is tried again each second");
    }
  }

 private:
  Engine& engine_;
  bool failing_ = false;
};

// The workers of a server.
class Workers {
 public:
  Workers(Engine& engine, const ServerOptions& options) : options_(options) {
    for (unsigned i = 0; i < options.door.threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(engine, options_.door));
    }
  }

  Result<void, std::string> listen(Listening& listening) {
    // A Unix socket and one that was passed have one queue, which all workers share.
    std::optional<int> shared = listening.passed;
    for (const auto& worker : workers_) {
      int fd = -1;
      if (shared) {
        fd = fcntl(*shared, F_DUPFD_CLOEXEC, 0);
      } else {
        const bool is_unix = listening.endpoint.is_unix();
        const auto opened =
            is_unix ? listening.endpoint.listen() : listening.endpoint.listen_shared();
        if (!opened) return Failure<std::string>(opened.error());
        fd = *opened;
        if (is_unix) shared = fd;
      }
      worker->listen(listening, fd);
    }
    spdlog::info("{} on {}{}", name(listening.kind), listening.endpoint.text(),
                 listening.passed ? ", a socket of the service manager" : "");
    return {};
  }

  // Starts all threads, or none.
  Result<void, std::string> start() {
    try {
      for (const auto& worker : workers_) worker->start();
    } catch (const std::system_error& error) {
      end();
      return Failure<std::string>("can't start " + std::to_string(workers_.size()) +
                                  " threads: " + error.code().message() +
                                  "; lower --threads, or raise the limit of processes");
    }
    return {};
  }

  // Open requests have this time to end.
  void stop(std::chrono::seconds time, const Signals& signals) {
    const auto deadline = Clock::now() + time;
    for (const auto& worker : workers_) worker->stop();
    const auto all_ended = [&] {
      return std::all_of(workers_.begin(), workers_.end(),
                         [](const auto& worker) { return worker->ended(); });
    };
    while (!all_ended() && Clock::now() < deadline) {
      const auto signal = signals.wait_for(check_interval);
      if (signal && ends(*signal)) break;
    }
    end();
  }

 private:
  void end() {
    for (const auto& worker : workers_) worker->end();
  }

  const ServerOptions& options_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

Result<void, std::string> run_server(Engine& engine, ServerOptions options) {
  const Signals signals;
  auto passed = PassedSockets::take();
  if (!passed) return Failure<std::string>(passed.error());
  for (Listening& listening : options.listening) {
    listening.passed = passed->find(listening.endpoint);
  }
  if (auto used = passed->expect_all_used(); !used) return used;
  unsigned& threads = options.door.threads;
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  share_descriptors(options);
  Workers workers(engine, options);
  const auto leave = [&] {
    for (const Listening& listening : options.listening) listening.endpoint.remove();
  };
  for (Listening& listening : options.listening) {
    if (auto listens = workers.listen(listening); !listens) {
      leave();
      return listens;
    }
  }
  engine.open_decision_log();
  if (auto started = workers.start(); !started) {
    leave();
    return started;
  }
  warn_of_exposed_secrets(*options.door.credentials);
  log_warnings(engine);
  spdlog::info("serving {} of {}", policies_of(engine), engine.config());
  ServiceManager service_manager([](const std::string& text) { spdlog::warn("{}", text); });
  service_manager.notify_ready();

  WrongTokenLog wrong_tokens(*options.door.credentials);
  AcceptLog accept_log(engine);
  OverrideFollower overrides(engine);
  const auto time_of_stop = [&] { return stop_time(options.door, engine.in_force()->policies()); };
  // The longest of all readings: requests may wait for policies that were in force before.
  std::chrono::seconds longest = time_of_stop();
  while (true) {
    const auto signal = signals.wait_for(look_interval);
    wrong_tokens.look();
    accept_log.look();
    overrides.look();
    if (!signal) continue;
    if (ends(*signal)) break;
    if (*signal == SIGHUP) {
      reload(*options.door.credentials, engine, service_manager);
      longest = std::max(longest, time_of_stop());
    }
    attempt("open the decision log again", [&] { engine.open_decision_log(); });
  }

  attempt("notify the service manager",
          [&] { service_manager.notify_stopping(longest + stop_margin); });
  spdlog::info("stopping");
  workers.stop(longest, signals);
  leave();
  return {};
}

}  // namespace headgate::server
