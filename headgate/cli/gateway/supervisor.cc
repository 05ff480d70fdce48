#include "headgate/cli/gateway/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/gateway/certificates.h"
#include "headgate/cli/gateway/nginx_log.h"
#include "headgate/policy/file/load.h"

namespace headgate::cli {
namespace {

// How long nginx may take to finish its requests when it is stopped, without --drain: enough for
// usual requests, and not too long for the caller of the stop.
constexpr std::chrono::seconds stop_drain{10};
// How long it may take after a signal to stop at once; then it is killed. Usually that is instant.
constexpr std::chrono::seconds fast_stop_max{3};

constexpr char refused[] = "reload refused; the policies in force stay as they are";

}  // namespace

void say(const std::string& words) { std::cerr << "headgate: " + words + '\n' << std::flush; }

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  // Some programs start others with this signal ignored: then nobody learns that nginx has ended.
  signal(SIGCHLD, SIG_DFL);
  // A closed standard error must not end this process before it has cleaned up.
  signal(SIGPIPE, SIG_IGN);
  fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

Signals::~Signals() { close(fd_); }

int Signals::next() const noexcept {
  signalfd_siginfo info{};
  return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Supervisor::Supervisor(std::string config, NginxPlan plan, PrivateDirectory directory,
                       const Signals& signals, NginxProcess nginx, std::string ready,
                       std::vector<std::string> shown)
    : config_(std::move(config)),
      plan_(std::move(plan)),
      directory_(std::move(directory)),
      signals_(signals),
      nginx_(std::move(nginx)),
      ready_(std::move(ready)),
      shown_(std::move(shown)),
      next_signal_(SIGTERM) {}

int Supervisor::run() {
  const auto log = [this](std::string_view line) { on_log(line); };
  for (int status = 0;;) {
    pollfd polled[] = {{signals_.fd(), POLLIN, 0}, {nginx_.log_fd(), POLLIN, 0}};
    if (poll(polled, 2, wait_ms()) < 0 && errno != EINTR) {
      say(std::string("poll: ") + std::strerror(errno));
      return input_fault;
    }
    nginx_.read_log(log);
    for (int signal; (signal = signals_.next()) != 0;) on_signal(signal);
    // First: nginx knows --drain, too, so that it may have ended because that is over.
    if (deadline_ && Clock::now() >= *deadline_) on_deadline();
    if (nginx_.reap(&status)) {
      nginx_.read_log(log);
      return ended(status);
    }
  }
}

void Supervisor::on_log(std::string_view line) {
  NginxLog log = read_nginx_log(line, plan_.policy_file);
  if (log.event == NginxLog::Event::refused && log.writer != 0 && !nginx_.is_master(log.writer)) {
    log.event = NginxLog::Event::none;  // a worker's, of a log that it cannot open again
    log.words = line;
  }
  const bool is_shown_elsewhere =
      log.event == NginxLog::Event::refused || log.event == NginxLog::Event::warned;
  if (!is_shown_elsewhere && !log.quiet) {
    std::cerr << log.words + '\n' << std::flush;
  }
  switch (log.event) {
    case NginxLog::Event::none:
      break;
    case NginxLog::Event::started:
      on_started();
      break;
    case NginxLog::Event::worker_start:
      workers_.insert(log.worker);
      break;
    case NginxLog::Event::worker_leave:
      forget_worker(log.worker);
      break;
    case NginxLog::Event::no_worker:
      could_not_start_ = true;
      forget_worker(log.worker);
      break;
    case NginxLog::Event::refused:
      on_refused(log.words);
      break;
    case NginxLog::Event::reopened:
      if (nginx_.is_master(log.writer)) on_reopened();
      break;
    case NginxLog::Event::warned:
      if (!take_shown(log.words)) print_warning("warning: " + log.words);
  }
  check_workers();
  if (phase_ == Phase::running && reload_again_) {
    reload_again_ = false;
    reload();
  }
}

bool Supervisor::take_shown(const std::string& words) {
  // As nginx logs a fault: long lines are cut, and those of other files than the policy file have a
  // prefix (read_nginx_log()).
  constexpr std::string_view prefix = "nginx: ";
  const std::string_view bare =
      std::string_view(words).substr(words.starts_with(prefix) ? prefix.size() : 0);
  const auto shown = std::find_if(shown_.begin(), shown_.end(),
                                  [&](const auto& fault) { return fault.starts_with(bare); });
  if (shown == shown_.end()) return false;
  shown_.erase(shown);
  return true;
}

void Supervisor::on_refused(const std::string& words) {
  if (!take_shown(words)) {
    say(words);
    if (phase_ == Phase::reloading) say(refused);
  }
  if (phase_ != Phase::reloading && phase_ != Phase::refusing) return;
  phase_ = Phase::refusing;
  // More faults may follow, and other ones than those shown if the file has changed meanwhile.
  // nginx opens its logs again after the last one, which is wanted at any reload.
  if (!std::exchange(reopens_, true)) nginx_.send(SIGUSR1);
}

void Supervisor::on_reopened() {
  if (is_without_workers()) return on_no_worker();
  // Without reopens_ it is that of a signal before the reload.
  if (phase_ != Phase::refusing || !std::exchange(reopens_, false)) return;
  shown_.clear();
  on_running();
}

bool Supervisor::is_without_workers() const {
  return (phase_ == Phase::running || phase_ == Phase::replacing) && could_not_start_ &&
         workers_.empty() && leaving_.empty();
}

void Supervisor::check_workers() {
  if (phase_ == Phase::replacing && leaving_.empty() && !workers_.empty()) {
    say("reloaded " + config_);
    on_running();
  }
  if (is_without_workers()) nginx_.send(SIGUSR1);
}

void Supervisor::on_no_worker() {
  say("nginx could not start any worker, and serves nobody; its lines above say why");
  phase_ = Phase::failed;
  end_nginx(SIGTERM, SIGKILL, fast_stop_max);
}

void Supervisor::on_running() {
  phase_ = Phase::running;
  service_manager_.notify_ready();
}

void Supervisor::on_started() {
  if (phase_ == Phase::starting) {
    say(ready_);
    on_running();
  } else if (phase_ == Phase::reloading || phase_ == Phase::refusing) {
    // If it was refused here: the file was corrected before nginx read it. What else depends on it
    // is read by another reload.
    if (phase_ == Phase::refusing) reload_again_ = true;
    shown_.clear();
    leaving_ = std::exchange(workers_, {});
    could_not_start_ = false;
    phase_ = Phase::replacing;
  }
}

void Supervisor::forget_worker(int worker) {
  workers_.erase(worker);
  leaving_.erase(worker);
}

void Supervisor::on_signal(int signal) {
  if (signal == SIGHUP) {
    if (phase_ == Phase::running) {
      reload();
    } else {
      reload_again_ = true;
    }
  } else if (signal == SIGUSR1) {
    // Before nginx has started it has no logs to open again, and the signal would end it.
    if (phase_ != Phase::starting) nginx_.send(SIGUSR1);
  } else if (signal == SIGINT || signal == SIGTERM) {
    stop();
  }
}

void Supervisor::reload() {
  reopens_ = false;
  service_manager_.notify_reloading();
  const policy::Loaded policies = policy::load_file(plan_.policy_file);
  if (!policies) {
    for (const policy::Fault& fault : policies.error()) {
      shown_.push_back(fault.text());
      print_error(fault.text());
    }
    // It may have been removed; nginx counts nothing without it.
    if (const auto there = directory_.write("nginx.conf", nginx_conf(plan_)); !there) {
      say(there.error());
    }
    return refuse();
  }
  plan_.follow(**policies);
  if (const auto prepared = prepare_reload(); !prepared) {
    say(prepared.error());
    // Without its last "}", nginx refuses the file before it reads certificates.
    if (directory_.blank_end("nginx.conf")) {
      shown_.push_back("unexpected end of file, expecting \"}\"");
      return refuse();
    }
    return refuse_alone();
  }
  phase_ = Phase::reloading;
  nginx_.send(SIGHUP);
}

Result<void, std::string> Supervisor::prepare_reload() {
  if (auto written = directory_.write("nginx.conf", nginx_conf(plan_)); !written) return written;
  return check_certificates(plan_);
}

// nginx refuses what it reads, too, and counts that for headgate_refused_reloads_total.
void Supervisor::refuse() {
  if (!directory_.is_ours()) return refuse_alone();
  say(refused);
  phase_ = Phase::refusing;
  nginx_.send(SIGHUP);
}

// Without nginx, which would accept what it finds in the directory. So this refusal is not counted.
void Supervisor::refuse_alone() {
  say(refused);
  nginx_.send(SIGUSR1);
  service_manager_.notify_ready();
}

// The first call lets requests finish; a second one stops at once. So does the first while nginx
// starts: it has no requests, and before it handles SIGQUIT, that would make it dump its memory.
void Supervisor::stop() {
  if (phase_ == Phase::failed) return;  // nginx ends already
  const bool at_once = phase_ == Phase::stopping || phase_ == Phase::starting;
  phase_ = Phase::stopping;
  Clock::duration time = stop_drain;
  if (at_once) {
    time = fast_stop_max;
  } else if (plan_.drain) {
    time = std::chrono::nanoseconds(static_cast<std::int64_t>(*plan_.drain));
  }
  service_manager_.notify_stopping(std::chrono::ceil<std::chrono::seconds>(time) +
                                   2 * fast_stop_max);
  if (at_once) {
    end_nginx(SIGTERM, SIGKILL, time);
  } else {
    end_nginx(SIGQUIT, SIGTERM, time);
  }
}

void Supervisor::end_nginx(int signal, int next, Clock::duration time) {
  nginx_.send(signal);
  next_signal_ = next;
  deadline_ = Clock::now() + time;
}

void Supervisor::on_deadline() {
  if (next_signal_ == SIGTERM) {
    say("requests still in progress are cut off: the time of --drain, or 10 s, is over");
  }
  end_nginx(next_signal_, SIGKILL, fast_stop_max);
}

int Supervisor::wait_ms() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

int Supervisor::ended(int status) const {
  if (phase_ == Phase::stopping) return done;
  if (phase_ == Phase::failed) return input_fault;  // that was said
  if (phase_ == Phase::starting) {
    say("nginx did not start");
  } else if (WIFSIGNALED(status)) {
    say("nginx was killed by signal " + std::to_string(WTERMSIG(status)));
  } else {
    say("nginx ended by itself with status " + std::to_string(WEXITSTATUS(status)));
  }
  return input_fault;
}

}  // namespace headgate::cli
