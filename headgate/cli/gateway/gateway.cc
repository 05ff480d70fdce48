#include "headgate/cli/gateway/gateway.h"

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgate/cli/exit_status.h"
#include "headgate/cli/gateway/nginx_conf.h"
#include "headgate/cli/gateway/nginx_log.h"
#include "headgate/cli/gateway/nginx_process.h"
#include "headgate/cli/gateway/private_directory.h"
#include "headgate/cli/gateway/upstream.h"
#include "headgate/cli/policy_file.h"
#include "headgate/net/endpoint.h"

namespace headgate::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char module_file[] = "ngx_http_headgate_module.so";
constexpr char authorities_file[] = "/etc/ssl/certs/ca-certificates.crt";
constexpr unsigned connections_max = 4096;
// nginx is asked to finish its requests, then to stop at once, then killed.
constexpr std::chrono::seconds patience{12};
constexpr std::chrono::seconds last_patience{3};

constexpr char kept[] = "reload refused; the policies in force stay as they are";

struct Options {
  std::string config;
  std::string upstream;
  std::string listen = "127.0.0.1:8080";
  std::string metrics;
  std::string workers = "auto";
  std::string access_log;
  std::string module;
};

void say(const std::string& words) { std::cerr << "headgate: " + words + '\n' << std::flush; }

int fail(ExitStatus status, const std::string& words) {
  say(words);
  return status;
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

// The module beside this program's build, or where Debian's packages put modules.
std::string find_module(const std::string& given) {
  if (!given.empty()) return absolute(given);
  if (const char* named = std::getenv("HEADGATE_MODULE"); named != nullptr && *named != '\0') {
    return absolute(named);
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path built = self.parent_path().parent_path() / "modules" / module_file;
  if (std::filesystem::exists(built, error)) return built.string();
  const std::filesystem::path packaged =
      std::filesystem::path("/usr/lib/nginx/modules") / module_file;
  return std::filesystem::exists(packaged, error) ? packaged.string() : built.string();
}

// Who nginx's workers are: not root.
struct Worker {
  std::string user;  // "NAME GROUP"
  gid_t group;
};

// Nobody in particular where this is not root: then workers are who we are.
std::optional<Worker> find_worker() {
  if (geteuid() != 0) return std::nullopt;
  for (const char* name : {"www-data", "nobody"}) {
    const passwd* user = getpwnam(name);
    if (user == nullptr) continue;
    const group* its_group = getgrgid(user->pw_gid);
    if (its_group != nullptr) {
      return Worker{std::string(name) + ' ' + its_group->gr_name, its_group->gr_gid};
    }
  }
  return Worker{"nobody", 65534};
}

// As many connections as this process may have files, so that nginx need not warn.
unsigned connections() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 512;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  return static_cast<unsigned>(std::min<rlim_t>(files.rlim_cur, connections_max));
}

// Signals as something to poll; blocked for this process from construction on.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);  // who no longer listens to us must not keep us from cleaning up
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { close(fd_); }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  // The next signal that has come, or 0.
  [[nodiscard]] int next() const noexcept {
    signalfd_siginfo info{};
    return read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  int fd_;
};

// One run, from nginx's start to its end.
class Gateway {
 public:
  Gateway(const Options& options, NginxPlan plan, PrivateDirectory directory,
          const Signals& signals, NginxProcess nginx, std::string banner)
      : options_(options),
        plan_(std::move(plan)),
        directory_(std::move(directory)),
        signals_(signals),
        nginx_(std::move(nginx)),
        banner_(std::move(banner)) {}

  int run();

 private:
  enum class Phase {
    starting,
    running,
    reloading,  // nginx reads the new configuration
    replacing,  // it is in force, but old workers still take connections
    stopping,
  };

  void on_log(std::string_view line);
  void on_signal(int signal);
  void reload();
  void stop();
  [[nodiscard]] int wait_ms() const;
  [[nodiscard]] int ended(int status) const;

  const Options& options_;
  NginxPlan plan_;
  PrivateDirectory directory_;
  const Signals& signals_;
  NginxProcess nginx_;
  std::string banner_;
  Phase phase_ = Phase::starting;
  std::set<int> workers_;  // those that take connections
  std::set<int> leaving_;  // those that should stop it
  bool reload_again_ = false;
  int harder_ = SIGTERM;  // what nginx gets at the deadline
  std::optional<Clock::time_point> deadline_;
};

int Gateway::run() {
  const auto log = [this](std::string_view line) { on_log(line); };
  for (int status = 0;;) {
    pollfd polled[] = {{signals_.fd(), POLLIN, 0}, {nginx_.log_fd(), POLLIN, 0}};
    if (poll(polled, 2, wait_ms()) < 0 && errno != EINTR) {
      return fail(input_fault, std::string("poll: ") + std::strerror(errno));
    }
    nginx_.read_log(log);
    for (int signal; (signal = signals_.next()) != 0;) on_signal(signal);
    if (nginx_.reap(&status)) {
      nginx_.read_log(log);
      return ended(status);
    }
    if (deadline_ && Clock::now() >= *deadline_) {
      nginx_.send(harder_);
      harder_ = SIGKILL;
      deadline_ = Clock::now() + last_patience;
    }
  }
}

void Gateway::on_log(std::string_view line) {
  const NginxLog log = read_nginx_log(line, plan_.policy_file);
  if (!log.quiet) {
    if (log.event == NginxLog::Event::refused)
      say(log.words);
    else
      std::cerr << log.words + '\n' << std::flush;
  }
  switch (log.event) {
    case NginxLog::Event::none:
      break;
    case NginxLog::Event::started:
      if (phase_ == Phase::starting) {
        say(banner_);
        phase_ = Phase::running;
      } else if (phase_ == Phase::reloading) {
        leaving_ = std::exchange(workers_, {});
        phase_ = Phase::replacing;
      }
      break;
    case NginxLog::Event::worker_start:
      workers_.insert(log.worker);
      break;
    case NginxLog::Event::worker_leave:
      workers_.erase(log.worker);
      leaving_.erase(log.worker);
      if (phase_ == Phase::replacing && leaving_.empty()) {
        say("reloaded " + options_.config);
        phase_ = Phase::running;
      }
      break;
    case NginxLog::Event::refused:
      if (phase_ == Phase::reloading) {
        say(kept);
        phase_ = Phase::running;
      }
  }
  if (phase_ == Phase::running && reload_again_) {
    reload_again_ = false;
    reload();
  }
}

void Gateway::on_signal(int signal) {
  if (signal == SIGHUP) {
    if (phase_ == Phase::running)
      reload();
    else
      reload_again_ = true;
  } else if (signal == SIGINT || signal == SIGTERM) {
    stop();
  }
}

void Gateway::reload() {
  const auto policies = load_or_complain(plan_.policy_file);
  if (policies == nullptr) {
    say(kept);
    return;
  }
  plan_.trusted_proxies = policies->settings().client_address.trusted_proxies;
  if (!directory_.write("nginx.conf", nginx_conf(plan_))) {
    say("reload refused: can't write " + directory_.path() + "/nginx.conf");
    return;
  }
  phase_ = Phase::reloading;
  nginx_.send(SIGHUP);
}

// Asked twice, it does not wait any longer.
void Gateway::stop() {
  const bool again = phase_ == Phase::stopping;
  phase_ = Phase::stopping;
  nginx_.send(again ? SIGTERM : SIGQUIT);
  harder_ = again ? SIGKILL : SIGTERM;
  deadline_ = Clock::now() + (again ? last_patience : patience);
}

int Gateway::wait_ms() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

int Gateway::ended(int status) const {
  if (phase_ == Phase::stopping) return done;
  if (phase_ == Phase::starting) return fail(input_fault, "nginx did not start");
  const std::string how =
      WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                          : "ended by itself with status " + std::to_string(WEXITSTATUS(status));
  return fail(input_fault, "nginx " + how);
}

Result<net::Endpoint, std::string> endpoint(const std::string& option, const std::string& text) {
  if (text.find('%') != std::string::npos) {
    return Failure<std::string>(option + " \"" + text +
                                "\": nginx can't listen on an address with a zone; use [::], "
                                "or an address that is valid everywhere");
  }
  auto endpoint = net::Endpoint::parse_tcp(text);
  if (!endpoint) return Failure<std::string>(option + ' ' + endpoint.error());
  return endpoint;
}

int run(const Options& options) {
  auto upstream = parse_upstream(options.upstream);
  if (!upstream) return fail(wrong_usage, "--upstream " + upstream.error());
  auto listen = endpoint("--listen", options.listen);
  if (!listen) return fail(wrong_usage, listen.error());
  std::optional<net::Endpoint> metrics;
  if (!options.metrics.empty()) {
    auto named = endpoint("--metrics", options.metrics);
    if (!named) return fail(wrong_usage, named.error());
    metrics = std::move(*named);
  }
  if (options.access_log.find('$') != std::string::npos) {
    return fail(wrong_usage, "--access-log \"" + options.access_log +
                                 "\": nginx takes what follows a $ for a variable; choose "
                                 "another name");
  }
  const auto policies = load_or_complain(options.config);
  if (policies == nullptr) return input_fault;

  NginxPlan plan;
  plan.module = find_module(options.module);
  if (access(plan.module.c_str(), R_OK) != 0) {
    return fail(input_fault, "the nginx module is missing: " + plan.module + ": " +
                                 std::strerror(errno) +
                                 "; build it with ./dev build, or name it with --module");
  }
  if (upstream->tls && access(authorities_file, R_OK) != 0) {
    return fail(input_fault, "an https upstream needs the certificates that it is held against: " +
                                 std::string(authorities_file) + ": " + std::strerror(errno) +
                                 "; install Debian's package ca-certificates");
  }
  const std::string nginx = find_nginx();
  if (nginx.empty()) {
    return fail(input_fault,
                "nginx is not installed: it is neither in PATH nor in /usr/sbin; "
                "install Debian's package nginx");
  }
  // Opened by us, so that port 0 means any free one and words are clear when it can't be had; nginx
  // inherits them and keeps them across reloads.
  auto opened = listen->listen();
  if (!opened) return fail(input_fault, "--listen " + opened.error());
  std::vector<int> sockets = {*opened};
  plan.listen = listen->text();
  std::string banner = "listening on http://" + plan.listen + " -> " + upstream->url();
  if (metrics) {
    opened = metrics->listen();
    if (!opened) return fail(input_fault, "--metrics " + opened.error());
    sockets.push_back(*opened);
    plan.metrics = metrics->text();
    banner += ", metrics on http://" + plan.metrics + "/metrics";
  }
  plan.policy_file = absolute(options.config);
  plan.upstream = std::move(*upstream);
  plan.workers = options.workers;
  plan.connections = connections();
  const std::optional<Worker> worker = find_worker();
  if (worker) plan.user = worker->user;
  plan.access_log = options.access_log == "-"    ? "/dev/stdout"
                    : options.access_log.empty() ? ""
                                                 : absolute(options.access_log);
  plan.authorities = authorities_file;
  plan.trusted_proxies = policies->settings().client_address.trusted_proxies;

  // Before anything exists that a signal would leave behind.
  const Signals signals;
  auto directory = PrivateDirectory::make();
  if (!directory) return fail(input_fault, directory.error());
  std::error_code error;
  // Workers keep request bodies below tmp, in directories that nginx makes theirs.
  const std::string temporary = directory->path() + "/tmp";
  std::filesystem::create_directory(temporary, error);
  if (!error) std::filesystem::permissions(temporary, std::filesystem::perms{0755}, error);
  if (error || (worker && !directory->let_through(worker->group)) ||
      !directory->write("nginx.conf", nginx_conf(plan))) {
    return fail(input_fault, "can't write to " + directory->path());
  }
  auto process = NginxProcess::start(nginx, directory->path(), sockets);
  if (!process) return fail(input_fault, "can't start " + nginx + ": " + process.error());
  return Gateway(options, std::move(plan), std::move(*directory), signals, std::move(*process),
                 std::move(banner))
      .run();
}

}  // namespace

std::function<int()> add_gateway(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "gateway", "Run nginx with the headgate module in front of an HTTP server");
  command->add_option("--config", options->config, "The policy file")
      ->required()
      ->type_name("FILE");
  command->add_option("--upstream", options->upstream, "The server behind the gateway")
      ->required()
      ->type_name("URL");
  command
      ->add_option("--listen", options->listen, "Where clients connect; port 0 takes any free one")
      ->capture_default_str()
      ->type_name("ADDR:PORT");
  command->add_option("--metrics", options->metrics, "Serve Prometheus text at /metrics there")
      ->type_name("ADDR:PORT");
  command->add_option("--workers", options->workers, "nginx worker processes, or auto")
      ->capture_default_str()
      ->type_name("N")
      ->check([](const std::string& text) -> std::string {
        const bool number = !text.empty() && text.size() <= 3 && text[0] != '0' &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return number || text == "auto" ? "" : "expected 1 to 999, or auto";
      });
  command
      ->add_option("--access-log", options->access_log, "Log every request; - is standard output")
      ->type_name("FILE");
  command
      ->add_option("--module", options->module,
                   "The nginx module (default: beside this program, or $HEADGATE_MODULE)")
      ->type_name("FILE");
  command->footer(
      "Runs in the foreground. SIGINT and SIGTERM let requests finish and stop; a second one "
      "stops\n"
      "at once. SIGHUP reloads the policy file; a bad one is refused and the old one stays.\n"
      "Exit status: 0 stopped, 1 could not run, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
