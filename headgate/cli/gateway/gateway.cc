#include "headgate/cli/gateway/gateway.h"

#include <grp.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/gateway/certificates.h"
#include "headgate/cli/gateway/nginx_conf.h"
#include "headgate/cli/gateway/nginx_process.h"
#include "headgate/cli/gateway/nginx_version.h"
#include "headgate/cli/gateway/output_relay.h"
#include "headgate/cli/gateway/private_directory.h"
#include "headgate/cli/gateway/supervisor.h"
#include "headgate/cli/gateway/upstream.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/patient_output.h"
#include "headgate/cli/policy_file.h"
#include "headgate/cli/reload_signals.h"
#include "headgate/net/endpoint.h"
#include "headgate/net/token_file.h"
#include "headgate/policy/quantity.h"
#include "headgate/server/passed_sockets.h"

namespace headgate::cli {
namespace {

constexpr char module_file[] = "ngx_http_headgate_module.so";
// Where Debian's package ca-certificates puts the certificates of all authorities.
constexpr char authorities_file[] = "/etc/ssl/certs/ca-certificates.crt";
// Per worker; a forwarded request needs two. nginx allocates about 420 bytes for each at its start.
constexpr unsigned connections_max = 4096;
// Debian's `nogroup`, for systems where no user of the usual names exists.
constexpr gid_t nogroup = 65534;

constexpr Nanos time_most = 365 * 86400 * nanos_per_second;  // in ms it fits nginx's timers
constexpr std::uint64_t body_most = std::uint64_t{1} << 50;  // of a body that is kept on disk

struct Options {
  std::string config;
  std::vector<std::string> upstreams;
  std::string upstream_ca = authorities_file;
  std::string listen = "127.0.0.1:8080";
  std::string tls_cert;
  std::string tls_key;
  std::string metrics;
  std::string admin_token_file;
  std::string overrides_file;
  std::string workers = "auto";
  std::string access_log;
  std::string access_log_format = "combined";
  std::string module;
  std::string drain;
  std::string unread_timeout;
  std::string response_timeout;
  std::string buffer_requests;
  std::optional<unsigned> connections_per_address;
};

// Why the gateway does not start.
struct Stop {
  ExitStatus status;
  std::string message;  // empty: standard error has it already
};

Failure<Stop> stop(ExitStatus status, std::string message = {}) {
  return Failure<Stop>(Stop{status, std::move(message)});
}

// With each `..` as it is: behind a symbolic link to a folder, it is the parent of that folder.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

// The module that was named, or that of this program's build or installation, or that of Debian's
// package. If it is found nowhere, the path in the build.
std::string find_module(const std::string& named) {
  if (!named.empty()) return absolute(named);
  const char* variable = std::getenv("HEADGATE_MODULE");
  if (variable != nullptr && *variable != '\0') return absolute(variable);
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path built = folder.parent_path() / "modules" / module_file;
  for (const std::filesystem::path& path :
       {built, folder / HEADGATE_MODULES_FROM_BIN / module_file,
        std::filesystem::path("/usr/lib/nginx/modules") / module_file}) {
    if (std::filesystem::exists(path, error)) return path.lexically_normal().string();
  }
  return built.string();
}

// The unprivileged user of nginx's workers.
struct WorkerUser {
  std::string names;  // "USER GROUP"
  gid_t group;
};

// std::nullopt unless this process is root's: only root can choose; workers are the master's user.
std::optional<WorkerUser> find_worker_user() {
  if (geteuid() != 0) return std::nullopt;
  for (const char* name : {"www-data", "nobody"}) {
    const passwd* user = getpwnam(name);
    if (user == nullptr) continue;
    const group* its_group = getgrgid(user->pw_gid);
    if (its_group != nullptr) {
      return WorkerUser{std::string(name) + ' ' + its_group->gr_name, its_group->gr_gid};
    }
  }
  return WorkerUser{"nobody", nogroup};
}

// Raises the limit of open files as far as allowed, and returns how many connections fit into it:
// nginx warns about more.
unsigned connections() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 512;  // nginx's own default
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  return static_cast<unsigned>(std::min<rlim_t>(files.rlim_cur, connections_max));
}

// `time` stays as it is if the option is not given.
template <class Time>
Result<void, Stop> parse_time(const char* option, const std::string& text, Time& time) {
  if (text.empty()) return {};
  const auto parsed = policy::parse_duration(text);
  if (!parsed) return stop(wrong_usage, option + (" \"" + text) + "\" " + parsed.error());
  time = std::min(*parsed, time_most);
  return {};
}

// Adds the options with units to the plan.
Result<void, Stop> parse_quantities(const Options& options, NginxPlan& plan) {
  if (auto parsed = parse_time("--drain", options.drain, plan.drain); !parsed) return parsed;
  if (auto parsed = parse_time("--unread-timeout", options.unread_timeout, plan.unread_timeout);
      !parsed) {
    return parsed;
  }
  if (auto parsed =
          parse_time("--response-timeout", options.response_timeout, plan.response_timeout);
      !parsed) {
    return parsed;
  }
  if (!options.buffer_requests.empty()) {
    const auto size = policy::parse_size(options.buffer_requests, 1, body_most);
    if (!size) {
      return stop(wrong_usage,
                  "--buffer-requests \"" + options.buffer_requests + "\" " + size.error());
    }
    plan.body_max = *size;
  }
  return {};
}

// What the options name, parsed.
struct Addresses {
  Upstreams upstreams;
  net::Endpoint listen;
  std::optional<net::Endpoint> metrics;
};

Result<net::Endpoint, Stop> parse_endpoint(const std::string& option, const std::string& text) {
  if (text.find('%') != std::string::npos) {
    return stop(wrong_usage, option + " \"" + text +
                                 "\": nginx can't listen on an address with a zone; use [::], "
                                 "or an address that is valid everywhere");
  }
  auto endpoint = net::Endpoint::parse_tcp(text);
  if (!endpoint) return stop(wrong_usage, option + ' ' + endpoint.error());
  return std::move(*endpoint);
}

std::string access_log_path(const std::string& option) {
  if (option == "-") return "/dev/stdout";
  return option.empty() ? "" : absolute(option);
}

Result<void, Stop> refuse_variables(const std::string& option, const std::string& path) {
  if (path.find('$') == std::string::npos) return {};
  return stop(wrong_usage, option + " \"" + path +
                               "\": nginx takes what follows a $ for a variable; choose "
                               "another name");
}

Result<Addresses, Stop> parse_addresses(const Options& options) {
  auto upstreams = parse_upstreams(options.upstreams);
  if (!upstreams) return stop(wrong_usage, "--upstream " + upstreams.error());
  if (!upstreams->front().tls && options.upstream_ca != authorities_file) {
    return stop(wrong_usage,
                "--upstream-ca is for https upstreams, but --upstream begins with http://");
  }
  auto listen = parse_endpoint("--listen", options.listen);
  if (!listen) return Failure<Stop>(listen.error());
  Addresses addresses{std::move(*upstreams), std::move(*listen), std::nullopt};
  if (!options.metrics.empty()) {
    auto metrics = parse_endpoint("--metrics", options.metrics);
    if (!metrics) return Failure<Stop>(metrics.error());
    addresses.metrics = std::move(*metrics);
  }
  if (auto safe = refuse_variables("--access-log", access_log_path(options.access_log)); !safe) {
    return Failure<Stop>(safe.error());
  }
  return addresses;
}

// Checks that the module and nginx are there; returns nginx's path.
Result<std::string, Stop> find_programs(const std::string& module) {
  if (access(module.c_str(), R_OK) != 0) {
    return stop(input_fault, "the nginx module is missing: " + module + ": " +
                                 std::strerror(errno) +
                                 "; install Debian's package libnginx-mod-http-headgate, build it "
                                 "with ./dev build, or name it with --module");
  }
  std::string nginx = find_nginx();
  if (nginx.empty()) {
    return stop(input_fault,
                "nginx is not installed: it is neither in PATH nor in /usr/sbin; "
                "install Debian's package nginx");
  }
  return nginx;
}

// Adds certificate and key, if there are, to the plan.
Result<void, Stop> plan_tls(const Options& options, const std::string& nginx, NginxPlan& plan) {
  if (options.tls_cert.empty()) return {};
  for (const std::string& path : {options.tls_cert, options.tls_key}) {
    if (auto safe = refuse_variables("--tls-cert or --tls-key", absolute(path)); !safe) {
      return safe;
    }
  }
  plan.tls_cert = absolute(options.tls_cert);
  plan.tls_key = absolute(options.tls_key);
  const NginxVersion version = nginx_version(nginx);
  plan.http2_directive = version >= NginxVersion{1, 25, 1};
  plan.keeps_certificates = version >= NginxVersion{1, 28, 0};
  return {};
}

// Returns the socket that systemd passes for this endpoint, or a new one if it passes none.
// `option` is the endpoint's.
Result<int, Stop> open(net::Endpoint& endpoint, const char* option, std::optional<int> passed) {
  if (passed) return *passed;
  const auto opened = endpoint.listen();
  if (!opened) return stop(input_fault, std::string(option) + ' ' + opened.error());
  return *opened;
}

// Opens the listening sockets, which nginx inherits and keeps across reloads, and writes their
// addresses into the plan. The gateway opens them itself so that port 0 can be any free port, and
// so that a failure has a clear message.
Result<std::vector<int>, Stop> listen(Addresses& addresses, NginxPlan& plan) {
  auto passed = server::PassedSockets::take();
  if (!passed) return stop(input_fault, passed.error());
  const std::optional<int> for_listen = passed->find(addresses.listen);
  const std::optional<int> for_metrics =
      addresses.metrics ? passed->find(*addresses.metrics) : std::nullopt;
  if (const auto used = passed->expect_all_used(); !used) return stop(input_fault, used.error());
  auto opened = open(addresses.listen, "--listen", for_listen);
  if (!opened) return Failure<Stop>(opened.error());
  std::vector<int> sockets = {*opened};
  plan.listen = addresses.listen.text();
  if (addresses.metrics) {
    opened = open(*addresses.metrics, "--metrics", for_metrics);
    if (!opened) return Failure<Stop>(opened.error());
    sockets.push_back(*opened);
    plan.metrics = addresses.metrics->text();
    plan.metrics_is_local = addresses.metrics->is_local();
  }
  return sockets;
}

// Checks the admin token, which nginx reads again with each reload, and adds the files of
// administrators to the plan.
Result<void, Stop> read_admin(const Options& options, NginxPlan& plan) {
  if (!options.overrides_file.empty()) plan.overrides_file = absolute(options.overrides_file);
  if (options.admin_token_file.empty()) return {};
  if (const auto token = net::read_token(options.admin_token_file); !token) {
    return stop(input_fault, token.error());
  }
  plan.admin_token_file = absolute(options.admin_token_file);
  return {};
}

std::string banner(const NginxPlan& plan) {
  std::string text = std::string("listening on ") + (plan.tls_cert.empty() ? "http" : "https") +
                     "://" + plan.listen;
  const char* before = " -> ";
  for (const Upstream& upstream : plan.upstreams) {
    text += std::exchange(before, ", ") + upstream.url();
  }
  if (!plan.metrics.empty()) text += ", metrics on http://" + plan.metrics + "/metrics";
  return text;
}

// The dashboard is at the address of the metrics, and needs no token.
void warn_of_shown_keys(const NginxPlan& plan, const policy::PolicySet& policies) {
  const bool plain = policies.settings().partition_key == policy::PartitionKey::plain;
  if (plan.metrics.empty() || plan.metrics_is_local || !plain) return;
  print_error("headgate: --metrics " + plan.metrics +
              " shows the keys of clients to everyone who can connect, because the policy file "
              "says partition-key: plain");
}

// A private directory with nginx.conf. In its tmp, nginx makes directories for the request bodies
// that its workers keep.
Result<PrivateDirectory, Stop> make_directory(const NginxPlan& plan,
                                              const std::optional<WorkerUser>& worker) {
  auto directory = PrivateDirectory::make(worker ? std::optional(worker->group) : std::nullopt);
  if (!directory) return stop(input_fault, directory.error());
  if (const auto written = directory->write("nginx.conf", nginx_conf(plan)); !written) {
    return stop(input_fault, written.error());
  }
  return std::move(*directory);
}

// Returns the exit status, or why nginx was not started.
Result<int, Stop> start_and_supervise(const Options& options) {
  auto addresses = parse_addresses(options);
  if (!addresses) return Failure<Stop>(addresses.error());
  const auto policies = load_or_complain(options.config);
  if (policies == nullptr) return stop(input_fault);

  NginxPlan plan;
  plan.module = find_module(options.module);
  plan.upstreams = std::move(addresses->upstreams);
  plan.upstream_addresses = count_addresses(plan.upstreams);
  plan.authorities = absolute(options.upstream_ca);
  const auto nginx = find_programs(plan.module);
  if (!nginx) return Failure<Stop>(nginx.error());
  if (auto added = plan_tls(options, *nginx, plan); !added) return Failure<Stop>(added.error());
  if (auto checked = check_certificates(plan); !checked) return stop(input_fault, checked.error());
  if (auto read = read_admin(options, plan); !read) return Failure<Stop>(read.error());
  const auto sockets = listen(*addresses, plan);
  if (!sockets) return Failure<Stop>(sockets.error());
  const std::optional<WorkerUser> worker = find_worker_user();
  if (worker) plan.user = worker->names;
  plan.policy_file = absolute(options.config);
  plan.workers = options.workers;
  plan.connections = connections();
  plan.connections_per_address = options.connections_per_address.value_or(plan.connections / 4);
  if (auto parsed = parse_quantities(options, plan); !parsed) return Failure<Stop>(parsed.error());
  plan.access_log = access_log_path(options.access_log);
  plan.logs_json = options.access_log_format == "json";
  plan.follow(*policies);
  warn_of_shown_keys(plan, *policies);

  // First the signals: from here on none ends this process before it has removed the directory.
  const Signals signals;
  const PatientErrors errors;
  auto directory = make_directory(plan, worker);
  if (!directory) return Failure<Stop>(directory.error());
  auto output = OutputRelay::make();
  if (!output) return stop(input_fault, "can't relay standard output: " + output.error());
  auto process = NginxProcess::start(*nginx, directory->path(), *sockets, output->write_end());
  if (!process) return stop(input_fault, "can't start " + *nginx + ": " + process.error());
  output->start();
  std::string ready = banner(plan);
  std::vector<std::string> shown;
  for (const policy::Fault& warning : policies->warnings()) shown.push_back(warning.text());
  return Supervisor(options.config, std::move(plan), std::move(*directory), signals,
                    std::move(*process), std::move(ready), std::move(shown))
      .run();
}

int run(const Options& options) {
  hold_reload_signals();
  const auto ended = start_and_supervise(options);
  if (ended) return *ended;
  if (!ended.error().message.empty()) print_error("headgate: " + ended.error().message);
  return ended.error().status;
}

}  // namespace

std::function<int()> add_gateway(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "gateway", "Run nginx with the headgate module in front of an HTTP server");
  command->add_option("--config", options->config, "The policy file")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--upstream", options->upstreams,
                   "The server behind the gateway; if repeated, they take turns")
      ->required()
      ->allow_extra_args(false)
      ->type_name("URL");
  command
      ->add_option("--upstream-ca", options->upstream_ca,
                   "The certificates of authorities for https upstreams")
      ->capture_default_str()
      ->type_name("FILE");
  command
      ->add_option("--listen", options->listen, "The address for clients; port 0 is any free port")
      ->capture_default_str()
      ->type_name("ADDR:PORT");
  CLI::Option* cert = command->add_option(
      "--tls-cert", options->tls_cert,
      "Serve clients with TLS, HTTP/1.1 and HTTP/2, with the certificate chain in this PEM file");
  CLI::Option* key =
      command->add_option("--tls-key", options->tls_key, "The certificate's private key");
  cert->type_name("FILE")->needs(key);
  key->type_name("FILE")->needs(cert);
  CLI::Option* metrics =
      command
          ->add_option(
              "--metrics", options->metrics,
              "Serve Prometheus text at /metrics of this address, the dashboard at /, and what "
              "`headgate top` and `headgate peek` read")
          ->type_name("ADDR:PORT");
  command
      ->add_option(
          "--admin-token-file", options->admin_token_file,
          "Let `headgate reset` and `headgate override` change quotas at that address, with "
          "the token on the first line of this file")
      ->needs(metrics)
      ->type_name("FILE");
  command
      ->add_option("--overrides-file", options->overrides_file,
                   "Keep overrides in this file, whose folder nginx's workers can write")
      ->type_name("FILE");
  command->add_option("--workers", options->workers, "Number of nginx worker processes, or auto")
      ->capture_default_str()
      ->type_name("N")
      ->check([](const std::string& text) -> std::string {
        const bool number = !text.empty() && text.size() <= 3 && text[0] != '0' &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return number || text == "auto" ? "" : "expected 1 to 999, or auto";
      });
  command
      ->add_option("--access-log", options->access_log,
                   "Log every request to this file; - is standard output")
      ->type_name("FILE");
  command
      ->add_option("--access-log-format", options->access_log_format,
                   "combined, or json: one object per line with the headers that policies read")
      ->capture_default_str()
      ->needs("--access-log")
      ->type_name("FORMAT")
      ->check(one_of({"combined", "json"}));
  command
      ->add_option("--drain", options->drain,
                   "How long requests in progress may take after a reload or a stop (default: any "
                   "time after a reload, 10s at a stop)")
      ->type_name("TIME");
  command
      ->add_option("--unread-timeout", options->unread_timeout,
                   "Close a client that reads nothing of its response for so long (default: 60s)")
      ->type_name("TIME");
  command
      ->add_option("--response-timeout", options->response_timeout,
                   "Give up an upstream that is silent for so long (default: 60s)")
      ->type_name("TIME");
  command
      ->add_option(
          "--buffer-requests", options->buffer_requests,
          "Read request bodies whole before the upstream gets them, and refuse longer ones "
          "(default: forward bodies of any length while they arrive)")
      ->type_name("SIZE");
  command
      ->add_option(
          "--connections-per-address", options->connections_per_address,
          "The most connections of one address at each worker; further ones are closed; 0: "
          "any number (default: a quarter of a worker's)")
      ->type_name("N")
      ->check(CLI::Range(0U, 1'000'000U).description(""));
  command
      ->add_option(
          "--module", options->module,
          "The nginx module (default: $HEADGATE_MODULE, or the one built with this program)")
      ->type_name("FILE");
  command->footer(
      "Runs in the foreground. SIGINT and SIGTERM finish the open requests within --drain, then\n"
      "stop; a second one stops at once. SIGHUP reloads the policy file and the certificate, and\n"
      "cuts no request without --drain; a file with faults is refused and the old one stays in\n"
      "force. SIGUSR1 opens the logs again.\n"
      "Exit status: 0 stopped, 1 could not run, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
