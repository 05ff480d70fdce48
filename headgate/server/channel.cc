#include "headgate/server/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "headgate/server/momentary.h"

namespace headgate::server {

Channel::~Channel() {
  unsent_.bytes -= rest_.size();
  close(fd_);
}

ssize_t Channel::receive(std::span<char> room) noexcept {
  return recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
}

ssize_t Channel::try_to_send(std::string_view bytes) noexcept {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && is_momentary(errno) ? 0 : sent;
}

bool Channel::send(std::string_view bytes) {
  if (bytes.empty()) return true;
  const ssize_t sent = try_to_send(bytes);
  if (sent < 0) return false;
  return keep(bytes.substr(static_cast<std::size_t>(sent)));
}

bool Channel::keep(std::string_view bytes) {
  if (bytes.empty()) return true;
  if (bytes.size() > Unsent::most - unsent_.bytes) return false;
  rest_ = bytes;
  rest_at_ = 0;
  unsent_.bytes += rest_.size();
  return true;
}

bool Channel::flush() {
  const ssize_t sent = try_to_send(std::string_view(rest_).substr(rest_at_));
  if (sent < 0) return false;
  rest_at_ += static_cast<std::size_t>(sent);
  if (rest_at_ < rest_.size()) return true;
  unsent_.bytes -= rest_.size();
  std::string().swap(rest_);
  return true;
}

bool Channel::end() noexcept { return shutdown(fd_, SHUT_WR) == 0; }

}  // namespace headgate::server
