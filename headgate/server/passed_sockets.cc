#include "headgate/server/passed_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <algorithm>

namespace headgate::server {

Result<PassedSockets, std::string> PassedSockets::take() {
  PassedSockets passed;
  const int count = sd_listen_fds(1);
  if (count < 0) {
    return Failure<std::string>(
        "the sockets that the service manager passes cannot be read from LISTEN_FDS; expected a "
        "number");
  }
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    std::string address;
    if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0) address = net::Endpoint::text_of(fd);
    if (address.empty()) {
      return Failure<std::string>("the service manager passes file descriptor " +
                                  std::to_string(fd) +
                                  ", which is no socket that listens at an address or path; "
                                  "expected one of ListenStream=");
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    passed.sockets_.push_back({fd, std::move(address)});
  }
  return passed;
}

std::optional<int> PassedSockets::find(const net::Endpoint& endpoint) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), [&](const Socket& socket) {
    return !socket.used && socket.address == endpoint.text();
  });
  if (found == sockets_.end()) return std::nullopt;
  found->used = true;
  return found->fd;
}

Result<void, std::string> PassedSockets::expect_all_used() const {
  for (const Socket& socket : sockets_) {
    if (socket.used) continue;
    return Failure<std::string>("the service manager passes a socket for " + socket.address +
                                ", which no option names; expected a listener with this address");
  }
  return {};
}

}  // namespace headgate::server
