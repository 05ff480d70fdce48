#include "headgate/server/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "headgate/server/momentary.h"
#include "headgate/server/peer.h"

namespace headgate::server {

Channel::Channel(int fd, const net::TlsContext* tls, Unsent& unsent, const char* protocol)
    : fd_(fd), unsent_(unsent) {
  if (tls != nullptr && is_tcp(fd)) tls_.emplace(tls->accept(fd, protocol));
}

Channel::~Channel() {
  unsent_.bytes -= rest_.size();
  close(fd_);
}

ssize_t Channel::receive(std::span<char> room) noexcept {
  const ssize_t count =
      tls_ ? tls_->receive(room) : recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
  if (count > 0) has_received_ = true;
  return count;
}

Need Channel::need() const noexcept {
  if (!tls_) return Need::input;
  if (tls_->has_more()) return Need::turn;
  return tls_->waits_to_write() ? Need::output : Need::input;
}

ssize_t Channel::try_to_send(std::string_view bytes) noexcept {
  const ssize_t sent = tls_ ? tls_->send(bytes)
                            : ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && is_momentary(errno) ? 0 : sent;
}

bool Channel::send(std::string_view bytes) {
  if (bytes.empty()) return true;
  const ssize_t sent = try_to_send(bytes);
  if (sent < 0) return false;
  return hold(bytes.substr(static_cast<std::size_t>(sent)));
}

bool Channel::hold(std::string_view bytes) {
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

bool Channel::end() noexcept {
  if (tls_) tls_->end();
  return shutdown(fd_, SHUT_WR) == 0;
}

}  // namespace headgate::server
