#include "headgate/cli/listener.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace headgate::cli {
namespace {

constexpr int backlog = 511;  // nginx's own

std::string words(int error, std::string_view text) {
  const std::string address(text);
  switch (error) {
    case EADDRINUSE:
      return address +
             " is in use by another program; stop it, or choose another address with "
             "--listen (port 0 takes any free one)";
    case EACCES:
      return "no permission to listen on " + address +
             "; ports below 1024 need root: choose a higher one with --listen";
    case EADDRNOTAVAIL:
      return "can't listen on " + address + ": this machine does not have that address";
    default:
      return "can't listen on " + address + ": " + std::strerror(error);
  }
}

std::string numeric(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const bool v6 = address->sa_family == AF_INET6;
  return (v6 ? '[' + std::string(host) + ']' : std::string(host)) + ':' + port;
}

}  // namespace

bool split_address(std::string_view text, std::string& host, std::string& port) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string_view name = text.substr(0, colon);
  const std::string_view number = text.substr(colon + 1);
  if (name.starts_with('[')) {
    if (!name.ends_with(']') || name.size() < 3) return false;
    name = name.substr(1, name.size() - 2);
  } else if (name.find(':') != std::string_view::npos) {
    return false;
  }
  if (number.empty() || number.size() > 5) return false;
  int value = 0;
  for (const char c : number) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  if (value > 65535) return false;
  host = name == "*" ? "0.0.0.0" : name;
  port = number;
  return true;
}

Result<Listener, std::string> Listener::open(std::string_view text) {
  std::string host;
  std::string port;
  if (!split_address(text, host, port)) {
    return Failure<std::string>('"' + std::string(text) +
                                "\": expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Failure<std::string>("can't listen on " + std::string(text) + ": " +
                                gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);

  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failure<std::string>(words(errno, text));
  Listener listener(fd, {});
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (found->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, backlog) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return Failure<std::string>(words(errno, text));
  }
  listener.address_ = numeric(reinterpret_cast<const sockaddr*>(&bound), size);
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace headgate::cli
