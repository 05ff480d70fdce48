#include "headgate/server/peer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

namespace headgate::server {

std::optional<policy::Address> peer_of(int fd) noexcept {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return std::nullopt;
  if (peer.ss_family == AF_INET) {
    std::uint8_t bytes[4];
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in*>(&peer)->sin_addr, sizeof bytes);
    return policy::Address::from_v4(bytes);
  }
  if (peer.ss_family == AF_INET6) {
    std::uint8_t bytes[16];
    std::memcpy(bytes, &reinterpret_cast<const sockaddr_in6*>(&peer)->sin6_addr, sizeof bytes);
    return policy::Address::from_v6(bytes);
  }
  return std::nullopt;
}

bool is_tcp(int fd) noexcept {
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain != AF_UNIX;
}

std::string peer_text(int fd) {
  const auto peer = peer_of(fd);
  if (!peer) return is_tcp(fd) ? "a TCP client that has gone" : "a Unix socket";
  char text[policy::Address::text_max];
  return {text, peer->write(text, peer->bits())};
}

unsigned local_port_of(int fd) noexcept {
  sockaddr_in6 address{};  // both families have the port at the same place
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin6_port);
}

}  // namespace headgate::server
