// Runs nginx as a child process: relays its log, passes signals on, reloads and stops it.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/cli/gateway/nginx_conf.h"
#include "headgate/cli/gateway/nginx_process.h"
#include "headgate/cli/gateway/private_directory.h"
#include "headgate/server/service_manager.h"

namespace headgate::cli {

// Writes "headgate: WORDS" to standard error.
void say(const std::string& words);

// Signals as something to poll: blocked for this process from construction on.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  [[nodiscard]] int fd() const noexcept { return fd_; }
  // Returns the next signal that has arrived, or 0.
  [[nodiscard]] int next() const noexcept;

 private:
  int fd_;
};

// Supervises one nginx from its start to its end. Not thread-safe.
//
//   starting -> running -> reloading -> replacing -> running -> stopping
//               running -> reloading -> refusing -> running
//               running -> refusing -> running
//               running or replacing -> failed
class Supervisor {
 public:
  // `config` is the policy file as the user named it; `ready` is shown when nginx has started.
  // `shown`: warnings that were shown, and that nginx will report, too.
  // `signals` must outlive the supervisor.
  Supervisor(std::string config, NginxPlan plan, PrivateDirectory directory, const Signals& signals,
             NginxProcess nginx, std::string ready, std::vector<std::string> shown);

  // Returns the exit status of the command, once nginx has ended.
  [[nodiscard]] int run();

 private:
  using Clock = std::chrono::steady_clock;

  enum class Phase {
    starting,
    running,
    reloading,  // nginx reads the new configuration
    replacing,  // the new configuration is in force, but old workers still accept connections
    refusing,   // nginx says why it refuses, or reads what was refused here, to count that
    stopping,
    failed,  // nginx has no worker, and is made to end
  };

  void on_log(std::string_view line);
  void on_signal(int signal);
  void on_deadline();
  void on_refused(const std::string& words);
  void on_reopened();
  void on_no_worker();
  // Whether this line of nginx was shown before nginx logged it. If so, forgets it.
  bool take_shown(const std::string& words);
  void on_running();
  void on_started();
  void forget_worker(int worker);
  // Whether nothing accepts connections, and nginx has said that it could not start a worker.
  [[nodiscard]] bool is_without_workers() const;
  // Ends a reload when the old workers have left. Without workers, makes nginx open its logs again:
  // until it says so, it may be at work to start some.
  void check_workers();
  // Puts the new policies into the files that nginx reads. Fails if nginx must not reload.
  [[nodiscard]] Result<void, std::string> prepare_reload();
  void reload();
  void refuse();
  void refuse_alone();
  void stop();
  // Sends a signal, and `next` if nginx has not ended in time.
  void end_nginx(int signal, int next, Clock::duration time);
  // Until the deadline, as poll() takes it.
  [[nodiscard]] int wait_ms() const;
  // Returns the exit status for nginx's wait status.
  [[nodiscard]] int ended(int status) const;

  std::string config_;
  NginxPlan plan_;
  PrivateDirectory directory_;
  const Signals& signals_;
  NginxProcess nginx_;
  server::ServiceManager service_manager_{say};
  std::string ready_;
  Phase phase_ = Phase::starting;
  std::set<int> workers_;           // process ids of the workers that accept connections
  std::set<int> leaving_;           // those of the old configuration, which should stop accepting
  bool could_not_start_ = false;    // a worker of the configuration in force
  bool reload_again_ = false;       // SIGHUP arrived during a reload
  std::vector<std::string> shown_;  // faults and warnings that nginx will report, too
  bool reopens_ = false;  // nginx was told to open its logs again when it has reported all faults
  int next_signal_;       // for nginx, at the deadline
  std::optional<Clock::time_point> deadline_;
};

}  // namespace headgate::cli
