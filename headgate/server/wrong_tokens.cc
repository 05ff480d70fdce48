#include "headgate/server/wrong_tokens.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

namespace headgate::server {
namespace {

std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST];
  auto* const peer = reinterpret_cast<sockaddr*>(&address);
  if (getpeername(fd, peer, &size) != 0 || address.ss_family == AF_UNIX ||
      getnameinfo(peer, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "a Unix socket";
  }
  return host;
}

}  // namespace

std::optional<WrongTokens::Answer> WrongTokens::count(unsigned nth, int fd, Clock::time_point now) {
  stats_.wrong_token(kind_);
  credentials_.count_wrong_token(peer_of(fd));
  const Clock::time_point at = std::max(now + nth * delay, last_ + apart);
  if (at > now + patience_) return std::nullopt;
  last_ = at;
  return Answer{at, nth >= tries_max};
}

}  // namespace headgate::server
