#include "headgate/net/endpoint.h"

#include <grp.h>
#include <netdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace headgate::net {
namespace {

// The most connections that wait for accept(). 4096 is the default of net.core.somaxconn, which
// lowers greater values.
constexpr int backlog = 4096;

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view tcp_form = "ADDRESS:PORT, such as 127.0.0.1:8081 or [::1]:8081";

Failure<std::string> cannot(const std::string& text, bool is_unix, int error) {
  switch (error) {
    case EADDRINUSE:
      return Failure<std::string>(text +
                                  " is in use by another program; stop it, or choose another " +
                                  (is_unix ? "path" : "address (port 0 takes any free one)"));
    case EACCES:
      return Failure<std::string>("no permission to listen on " + text +
                                  (is_unix ? "" : "; ports below 1024 need root"));
    case EADDRNOTAVAIL:
      return Failure<std::string>("can't listen on " + text +
                                  ": this machine does not have that address");
    default:
      return Failure<std::string>("can't listen on " + text + ": " + std::strerror(error));
  }
}

std::string numeric(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_UNIX) {
    return std::string("unix:") + reinterpret_cast<const sockaddr_un*>(address)->sun_path;
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const bool v6 = address->sa_family == AF_INET6;
  return (v6 ? '[' + std::string(host) + ']' : std::string(host)) + ':' + port;
}

// Reads octal digits. The owner has to read and write, so that a restarted server finds out whether
// the socket is abandoned.
std::optional<mode_t> parse_mode(std::string_view text) {
  mode_t mode = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  if (!whole || mode > 0777 || (mode & 0600) != 0600) return std::nullopt;
  return mode;
}

std::optional<gid_t> find_group(const std::string& name) {
  const group* found = getgrnam(name.c_str());
  return found == nullptr ? std::nullopt : std::optional(found->gr_gid);
}

// Whether the socket's file was left behind by a killed server: it exists, and no process listens.
bool abandoned(const sockaddr* address, socklen_t size) {
  // A process that listens and does not accept would make this wait for ever otherwise.
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool refused = connect(fd, address, size) != 0 && errno == ECONNREFUSED;
  close(fd);
  return refused;
}

// Lets other sockets of this user listen on the same port, if they share it, too.
void share(int fd) noexcept {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

}  // namespace

Endpoint::Endpoint(const sockaddr* address, socklen_t size) : size_(size) {
  std::memcpy(&address_, address, size);
  text_ = numeric(address, size);
}

Result<Endpoint, std::string> Endpoint::parse(std::string_view text) {
  if (text.starts_with(unix_prefix)) return unix_socket(text);
  return tcp(text, std::string(tcp_form) + ", or unix:PATH");
}

Result<Endpoint, std::string> Endpoint::unix_socket(std::string_view text) {
  const auto refuse = [&](const std::string& expected) {
    return Failure<std::string>('"' + std::string(text) + "\": expected " + expected);
  };
  std::string_view path = text.substr(unix_prefix.size());
  std::optional<mode_t> mode;
  std::optional<gid_t> group;
  // Options are what follows the last commas and has a '='; other commas belong to the path.
  for (std::size_t comma; (comma = path.rfind(',')) != path.npos;) {
    const std::string_view option = path.substr(comma + 1);
    const std::size_t equals = option.find('=');
    if (equals == option.npos) break;
    const std::string_view name = option.substr(0, equals);
    const std::string_view value = option.substr(equals + 1);
    if (name == "mode" && !mode) {
      mode = parse_mode(value);
      if (!mode) return refuse("a mode from 0600 to 0777, such as mode=0660");
    } else if (name == "group" && !group) {
      group = find_group(std::string(value));
      if (!group) return refuse("a group of this system after group=");
    } else {
      return refuse("unix:PATH and perhaps ,mode=0660 and ,group=NAME, each once");
    }
    path = path.substr(0, comma);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return refuse("unix:PATH with at most " + std::to_string(sizeof address.sun_path - 1) +
                  " bytes of path");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Endpoint endpoint(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  endpoint.mode_ = mode.value_or(endpoint.mode_);
  endpoint.group_ = group;
  return endpoint;
}

Result<Endpoint, std::string> Endpoint::parse_tcp(std::string_view text) {
  return tcp(text, tcp_form);
}

Result<Endpoint, std::string> Endpoint::tcp(std::string_view text, std::string_view form) {
  const auto malformed = [&] {
    return Failure<std::string>('"' + std::string(text) + "\": expected " + std::string(form));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return malformed();
  std::string host(text.substr(0, colon));
  const std::string port(text.substr(colon + 1));
  if (host.starts_with('[')) {
    if (!host.ends_with(']') || host.size() < 3) return malformed();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return malformed();
  }
  if (host == "*") host = "0.0.0.0";
  const bool digits = port.find_first_not_of("0123456789") == std::string::npos;
  if (port.empty() || port.size() > 5 || !digits || std::stoi(port) > 65535) return malformed();

  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Failure<std::string>('"' + std::string(text) + "\": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  return Endpoint(found->ai_addr, found->ai_addrlen);
}

std::string Endpoint::text_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound - 1;  // so that a path ends with a 0
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  if (getsockname(fd, address, &size) != 0) return "";
  const bool is_tcp = bound.ss_family == AF_INET || bound.ss_family == AF_INET6;
  const bool has_path = bound.ss_family == AF_UNIX &&
                        reinterpret_cast<const sockaddr_un*>(address)->sun_path[0] != '\0';
  return is_tcp || has_path ? numeric(address, size) : "";
}

bool Endpoint::is_local() const noexcept {
  switch (family()) {
    case AF_UNIX:
      return true;
    case AF_INET:
      return ntohl(reinterpret_cast<const sockaddr_in*>(&address_)->sin_addr.s_addr) >> 24 == 127;
    default:
      return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address_)->sin6_addr);
  }
}

Result<int, std::string> Endpoint::open(Sharing sharing) const {
  const int fd = socket(family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot(text_, is_unix(), errno);
  const int on = 1;
  if (!is_unix()) {
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (sharing == Sharing::in_this_process) share(fd);
    if (family() == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  } else {
    fchmod(fd, 0);  // the file begins with this mode, so that nobody connects before set_access()
  }
  if (bind(fd, address(), size_) != 0 || ::listen(fd, backlog) != 0) {
    const int error = errno;
    close(fd);
    return cannot(text_, is_unix(), error);
  }
  return fd;
}

Result<int, std::string> Endpoint::listen() {
  if (is_unix()) {
    const char* path = reinterpret_cast<const sockaddr_un*>(&address_)->sun_path;
    struct stat found = {};
    if (lstat(path, &found) == 0 && !S_ISSOCK(found.st_mode)) {
      return Failure<std::string>("can't listen on " + text_ +
                                  ": there is a file of that name, and it is no socket");
    }
    if (abandoned(address(), size_)) unlink(path);
  }
  const auto fd = open(Sharing::none);
  if (!fd) return fd;
  ours_ = true;
  if (is_unix()) {
    const char* path = reinterpret_cast<const sockaddr_un*>(&address_)->sun_path;
    file_ = file_at(path);
    const auto set = set_access(path);
    if (!set) {
      close(*fd);
      remove();
      return Failure<std::string>(set.error());
    }
  }
  if (!is_unix()) {
    socklen_t size = sizeof address_;
    getsockname(*fd, reinterpret_cast<sockaddr*>(&address_), &size);
    text_ = numeric(address(), size_);
  }
  return fd;
}

Result<void, std::string> Endpoint::set_access(const char* path) const {
  // First the group, so that the mode is never that of another group.
  if (group_ && chown(path, static_cast<uid_t>(-1), *group_) != 0) {
    const int error = errno;
    return Failure<std::string>("can't give " + text_ + " its group: " + std::strerror(error) +
                                (error == EPERM ? "; expected a group of this user" : ""));
  }
  if (chmod(path, mode_) != 0) {
    return Failure<std::string>("can't give " + text_ + " its mode: " + std::strerror(errno));
  }
  return {};
}

Result<int, std::string> Endpoint::listen_shared() {
  if (ours_) return open(Sharing::in_this_process);
  // The first socket binds without SO_REUSEPORT, so that the port of another server is refused. It
  // sets that afterwards, and stays open, so that no other program can take the port.
  const auto first = listen();
  if (first) share(*first);
  return first;
}

std::optional<Endpoint::File> Endpoint::file_at(const char* path) noexcept {
  struct stat found = {};
  if (lstat(path, &found) != 0) return std::nullopt;
  // Nothing but its creation sets this time of a socket.
  return File{found.st_dev, found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

void Endpoint::remove() const noexcept {
  if (!is_unix() || !ours_) return;
  const char* path = reinterpret_cast<const sockaddr_un*>(&address_)->sun_path;
  if (file_ && file_at(path) == file_) unlink(path);
}

}  // namespace headgate::net
