// Errors of non-blocking sockets.
#pragma once

#include <cerrno>

namespace headgate::server {

// Whether a failed recv() or send() is to be tried again when the socket is ready.
[[nodiscard]] inline bool is_momentary(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace headgate::server
