#include "headgate/redis/trial.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "headgate/net/resp_reply_reader.h"
#include "headgate/net/resp_writer.h"
#include "headgate/redis/key.h"
#include "headgate/redis/module_call.h"
#include "headgate/redis/replies.h"
#include "headgate/redis/script.h"
#include "headgate/redis/script_call.h"

namespace headgate::redis {
namespace {

using Steady = std::chrono::steady_clock;
using Words = std::vector<std::string_view>;

constexpr std::string_view rights = "; docs/redis.md has the rights that the user needs";
// The oldest version that is supported.
constexpr unsigned least_major = 6;
constexpr unsigned least_minor = 2;

// Where a server may listen.
struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

SocketAddress unix_address(const std::string& path) {
  SocketAddress found;
  found.size = sizeof(sockaddr_un);
  auto* const at = reinterpret_cast<sockaddr_un*>(&found.bytes);
  at->sun_family = AF_UNIX;
  std::strncpy(at->sun_path, path.c_str(), sizeof at->sun_path - 1);
  return found;
}

// Returns all addresses of the server, at least one, or why there are none.
Result<std::vector<SocketAddress>, std::string> resolve(const ServerAddress& server) {
  if (server.is_unix()) return std::vector<SocketAddress>{unix_address(server.port)};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = getaddrinfo(server.host.c_str(), server.port.c_str(), &hints, &first);
  if (error != 0) {
    return Failure<std::string>(std::string("its name cannot be resolved: ") + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(first, freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    found.emplace_back().size = one->ai_addrlen;
    std::memcpy(&found.back().bytes, one->ai_addr, one->ai_addrlen);
  }
  return found;
}

// A connection on which one command after the other is sent and answered.
class Conversation {
 public:
  Conversation() = default;
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() {
    tls_.reset();
    if (fd_ >= 0) close(fd_);
  }

  // Connects to one of the server's addresses. At most once. Returns what went wrong.
  std::optional<std::string> open(const SocketAddress& address, const ServerAddress& server,
                                  const Options& options) {
    fd_ = socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{3, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // of connect(), too
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0) {
      return std::string("it cannot be reached: ") +
             (errno == EINPROGRESS ? "no answer in 3 s" : strerror(errno));
    }
    const Login login = options.login.get();
    if (login.tls && !server.is_unix()) {
      tls_.emplace(
          login.tls->connect(fd_, options.server_name.empty() ? server.host : options.server_name));
    }
    return std::nullopt;
  }

  // Sends a command and calls `use` with its reply, unless that is an error. Returns the error, or
  // what went wrong; then is_lost() is true.
  template <class Use>
  std::optional<std::string> ask(const Words& words, const Use& use) {
    std::string bytes;
    net::RespWriter out(bytes);
    out.command(words);
    for (std::string_view unsent = bytes; !unsent.empty();) {
      const ssize_t sent =
          tls_ ? tls_->send(unsent) : ::send(fd_, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent <= 0) return lost();
      unsent.remove_prefix(static_cast<std::size_t>(sent));
    }
    received_.clear();
    for (;;) {
      const auto found = reader_.read(received_);
      if (found == net::RespReplyReader::Found::reply) break;
      if (found == net::RespReplyReader::Found::fault) {
        is_lost_ = true;
        return "it is no Redis: " + reader_.fault();
      }
      std::array<char, 16384> room;
      const ssize_t got = tls_ ? tls_->receive(room) : recv(fd_, room.data(), room.size(), 0);
      if (got <= 0) return lost(got == 0);
      received_.append(room.data(), static_cast<std::size_t>(got));
    }
    const net::RespReply reply = reader_.reply();
    if (reply->is_error()) return std::string(reply->text);
    use(reply);
    return std::nullopt;
  }
  std::optional<std::string> ask(const Words& words) {
    return ask(words, [](const net::RespReply&) {});
  }
  // Returns why no reply came, or std::nullopt if one came, also if that is an error.
  std::optional<std::string> reach(const Words& words) {
    auto why = ask(words);
    return is_lost_ ? std::move(why) : std::nullopt;
  }

  [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }

 private:
  std::string lost(bool is_end = false) {
    is_lost_ = true;
    if (is_end || errno == 0) return "it closed the connection";
    if (errno == EAGAIN) return "no answer in 3 s";
    return net::connection_fault(tls_);
  }

  int fd_ = -1;
  std::optional<net::TlsStream> tls_;
  net::RespReplyReader reader_;
  std::string received_;
  bool is_lost_ = false;
};

// Connects to the first of the server's addresses at which `greet` finds no fault, as a Link does.
// Otherwise returns what is wrong at each address.
template <class Greet>
Result<std::unique_ptr<Conversation>, std::vector<std::string>> converse(
    const ServerAddress& server, const Options& options, const Greet& greet) {
  using Faults = std::vector<std::string>;
  const auto addresses = resolve(server);
  if (!addresses) return Failure<Faults>({addresses.error()});
  Faults faults;
  for (const SocketAddress& address : *addresses) {
    auto conversation = std::make_unique<Conversation>();
    auto fault = conversation->open(address, server, options);
    if (!fault) fault = greet(*conversation);
    if (!fault) return conversation;
    if (std::find(faults.begin(), faults.end(), *fault) == faults.end()) faults.push_back(*fault);
  }
  return Failure<Faults>(std::move(faults));
}

std::string refusal(std::string_view command, const std::string& error) {
  return std::string(command) + ": " + error +
         std::string(error.starts_with("NOPERM") ? rights : "");
}

std::string milliseconds(double seconds) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.2f ms", seconds * 1000);
  return text.data();
}

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

void add_once(std::vector<ServerAddress>& servers, const ServerAddress& server) {
  if (std::find(servers.begin(), servers.end(), server) == servers.end()) servers.push_back(server);
}

// Tries one server.
class ServerTrial {
 public:
  ServerTrial(const ServerAddress& address, const Options& options, Trial& trial)
      : address_(address), options_(options), trial_(trial) {}

  void run() {
    auto opened =
        converse(address_, options_, [this](Conversation& redis) { return greet(redis); });
    if (!opened) {
      for (const std::string& fault : opened.error()) add_fault(fault);
      return;
    }
    redis_ = *std::move(opened);
    see_version();
    see_memory();
    see_time();
    use_script();
    see_module();
    if (options_.cluster && !redis_->is_lost()) see_slots();
  }

  // Of the cluster, as this server sees it.
  [[nodiscard]] const std::vector<ServerAddress>& primaries() const noexcept { return primaries_; }

 private:
  void add(const std::string& what) { trial_.findings.push_back(address_.text() + ": " + what); }
  void add_fault(const std::string& what) {
    trial_.faults.push_back(address_.text() + ": " + what);
  }

  // Returns whether the command may be executed. In a cluster, another server may have the key; a
  // redirection comes after the check of rights.
  template <class Use>
  bool may(const Words& words, const Use& use) {
    if (redis_->is_lost()) return false;
    const auto error = redis_->ask(words, use);
    if (!error || (options_.cluster && error->starts_with("MOVED "))) return true;
    add_fault(refusal(words[0], *error));
    return false;
  }
  bool may(const Words& words) {
    return may(words, [](const net::RespReply&) {});
  }

  // Returns why a store would not use this server.
  [[nodiscard]] std::optional<std::string> greet(Conversation& redis) const {
    const std::string password = options_.login.get().password;
    if (!password.empty()) {
      if (const auto error = redis.ask(options_.auth(password))) return refusal("AUTH", *error);
    }
    if (options_.cluster) return redis.reach({"PING"});
    std::optional<std::string> fault;
    const auto error =
        redis.ask({"ROLE"}, [&](const net::RespReply& reply) { fault = fault_of_role(reply); });
    return error ? refusal("ROLE", *error) : fault;
  }

  // Returns a value of INFO; "" if there is none.
  Result<std::string, std::string> info(std::string_view section, const std::string& name) {
    std::string value;
    const auto error = redis_->ask({"INFO", section}, [&](const net::RespReply& reply) {
      const std::size_t at = reply->text.find("\n" + name + ":");
      if (at == std::string_view::npos) return;
      value = reply->text.substr(at + name.size() + 2);
      value.resize(std::min(value.size(), value.find_first_of("\r\n")));
    });
    if (error) return Failure<std::string>(*error);
    return value;
  }

  void see_version() {
    const auto read = info("server", "redis_version");
    if (!read || read->empty()) {
      return add("its version is not known" + (read ? std::string() : ": " + read.error()));
    }
    const std::string& version = *read;
    unsigned major = 0;
    unsigned minor = 0;
    const char* const end = version.data() + version.size();
    const auto [dot, fault] = std::from_chars(version.data(), end, major);
    if (fault == std::errc{} && dot != end) std::from_chars(dot + 1, end, minor);
    if (major < least_major || (major == least_major && minor < least_minor)) {
      add_fault("it has version " + version + "; expected 6.2 or newer");
    } else {
      add("version " + version);
    }
  }

  void see_memory() {
    const auto most = info("memory", "maxmemory");
    const auto policy = info("memory", "maxmemory_policy");
    const bool is_bounded = most && !most->empty() && *most != "0";
    if (!is_bounded || !policy || policy->empty() || *policy == "noeviction") return;
    add("it drops keys when its memory is full, and clients of them have a whole quota then: "
        "maxmemory-policy is " +
        *policy + "; expected noeviction");
  }

  void see_time() {
    constexpr int rounds = 20;
    double fastest = 1e9;
    double ahead = 0;
    for (int i = 0; i < rounds; ++i) {
      const auto begin = Steady::now();
      const bool done = may({"TIME"}, [&](const net::RespReply& reply) {
        const double took = seconds_since(begin);
        if (took >= fastest) return;
        fastest = took;
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const double time = static_cast<double>(redis_time(reply).value_or(Instant{}).ns) * 1e-9;
        ahead = time - (std::chrono::duration<double>(now).count() - took / 2);
      });
      if (!done) return;
    }
    const auto timeout = std::chrono::duration<double>(options_.timeout).count();
    if (fastest > timeout) {
      add_fault("a round trip takes " + milliseconds(fastest) + ", more than the timeout of " +
                milliseconds(timeout));
    } else {
      add("a round trip takes " + milliseconds(fastest));
    }
    add("its clock, which decides, is " + milliseconds(std::abs(ahead)) +
        (ahead < 0 ? " behind ours" : " ahead of ours"));
  }

  // Loads the script, and has a small one write a key that expires, in every way that a store uses.
  void use_script() {
    const std::string key = options_.prefix + "{headgate check}";
    constexpr std::string_view write = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";
    std::string sha;
    bool good = may({"SCRIPT", "LOAD", take_script()});
    good &= may({"SCRIPT", "LOAD", write}, [&](const net::RespReply& reply) { sha = reply->text; });
    good &= may({"EVALSHA", sha, "1", key});
    good &= may({"EVAL", write, "1", key});
    good &= may({"GET", key});
    good &= may({"MGET", key});
    if (options_.cluster) good &= may({"ASKING"});
    if (good) add("scripts run, and keys that begin with " + options_.prefix + " can be written");
  }

  // Scripts do without it.
  void see_module() {
    const std::string key = options_.prefix + "{headgate check}";
    if (redis_->is_lost()) return;
    const auto error = redis_->ask({"HG.TAKE", key, "0/1s", "0"});
    if (redis_->is_lost() || (error && lacks_module(*error))) return;
    add("it has headgate's module, which decides instead of scripts");
  }

  void see_slots() {
    std::int64_t covered = 0;
    const bool done = may({"CLUSTER", "SLOTS"}, [&](const net::RespReply& reply) {
      for (const SlotRange& range : slot_ranges(reply, address_)) {
        if (range.primary) add_once(primaries_, *range.primary);
        covered += range.last - range.first + 1;
      }
    });
    if (!done) return;
    if (covered != slots) {
      add_fault(std::to_string(covered) + " of the cluster's " + std::to_string(slots) +
                " slots have a server; expected all");
    } else {
      add("the cluster has " + std::to_string(primaries_.size()) + " primaries for all slots");
    }
  }

  const ServerAddress& address_;
  const Options& options_;
  Trial& trial_;
  std::unique_ptr<Conversation> redis_;
  std::vector<ServerAddress> primaries_;
};

// Tries one sentinel. Returns the primary that it names.
std::optional<ServerAddress> try_sentinel(const ServerAddress& address, const Options& options,
                                          Trial& trial) {
  const auto fault = [&](const std::string& what) {
    trial.faults.push_back(address.text() + ": " + what);
    return std::nullopt;
  };
  const auto opened = converse(address, options, [&](Conversation& sentinel) {
    const std::string password = options.login.get().password;
    // It may have no password, and then refuses every one.
    return sentinel.reach(password.empty() ? Words{"PING"} : options.auth(password));
  });
  if (!opened) {
    for (const std::string& why : opened.error()) fault(why);
    return std::nullopt;
  }
  Conversation& sentinel = **opened;
  std::optional<ServerAddress> named;
  std::string missing;
  const auto why = sentinel.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", options.sentinel},
                                [&](const net::RespReply& reply) {
                                  auto primary = named_primary(reply, options.sentinel);
                                  if (primary) named = std::move(*primary);
                                  if (!named) missing = primary.error();
                                });
  if (why) return fault("SENTINEL: " + *why + "; expected a sentinel");
  if (!named) return fault(missing);
  trial.findings.push_back(address.text() + ": the primary of " + options.sentinel + " is " +
                           named->text());
  return named;
}

// The primaries that the sentinels name: one, if they agree.
std::vector<ServerAddress> try_sentinels(const Options& options, Trial& trial) {
  std::vector<ServerAddress> primaries;
  for (const ServerAddress& address : options.nodes) {
    if (const auto primary = try_sentinel(address, options, trial)) add_once(primaries, *primary);
  }
  if (primaries.size() > 1) {
    trial.faults.push_back("the sentinels name " + std::to_string(primaries.size()) +
                           " servers as the primary of " + options.sentinel + "; expected one");
  }
  return primaries;
}

}  // namespace

Trial try_redis(const Options& options) {
  Trial trial;
  std::vector<ServerAddress> servers =
      options.sentinel.empty() ? options.nodes : try_sentinels(options, trial);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const ServerAddress server = servers[i];
    ServerTrial one(server, options, trial);
    one.run();
    for (const ServerAddress& primary : one.primaries()) add_once(servers, primary);
  }
  return trial;
}

}  // namespace headgate::redis
