#include "headgate/server/envoy/grpc_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "headgate/server/momentary.h"

namespace headgate::server {
namespace {

// Input is not taken while so many bytes are unsent: what a client that does not read has in our
// memory. More than a socket's send buffer, so that a client that reads never waits.
constexpr std::size_t output_pause = 256 * 1024;

// The input after which answers are collected: a hundred calls, so that their answers together do
// not become much more than output_pause.
constexpr std::size_t slice = 4096;

// The input that is discarded after the last answer, so that a client that has sent more than we
// read still receives it. A client that sends more is not interested.
constexpr std::size_t discarded_max = 256 * 1024;

// How often a client that only watches is pinged, as a share of the time after which it would be
// closed: so that one lost second does not matter.
constexpr std::uint64_t pings_per_idle = 3;

}  // namespace

GrpcConnection::~GrpcConnection() {
  if (is_idle()) {
    try {
      std::string goodbye;
      session_->say_goodbye(goodbye);
      ::send(fd_, goodbye.data(), goodbye.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } catch (const std::exception&) {  // on bad_alloc, closes without a word
    }
  }
  close(fd_);
}

// On bad_alloc, closes only this connection.
template <class Act>
Need GrpcConnection::attempt(const Act& act) noexcept {
  moved_ = false;
  const std::uint64_t before = session_ ? session_->progress() : 0;
  try {
    const Need need = act();
    if (session_ && session_->progress() != before) moved_ = true;
    return need;
  } catch (const std::exception&) {
    return Need::nothing;
  }
}

Need GrpcConnection::serve() noexcept {
  return attempt([&] { return unsent_.empty() ? read() : send_unsent(); });
}

Need GrpcConnection::tick() noexcept {
  return attempt([&] {
    if (!session_ || lingers_) return Need::input;
    if (!unsent_.empty()) return Need::output;  // its own time is running
    const auto patience = static_cast<std::uint64_t>(door_.options.patience.count());
    const auto idle = static_cast<std::uint64_t>(door_.options.idle.count());
    const bool expires = door_.now > patience && session_->expire(door_.now - patience);
    const bool pings = door_.now % std::max<std::uint64_t>(idle / pings_per_idle, 1) == 0 &&
                       session_->ping_watcher();
    return expires || pings ? take_input({}) : Need::input;
  });
}

Need GrpcConnection::stop() noexcept {
  return attempt([&] {
    if (!session_) return Need::nothing;
    if (lingers_) return Need::input;
    session_->stop();
    return unsent_.empty() ? take_input({}) : Need::output;
  });
}

Need GrpcConnection::read() {
  auto& room = door_.input;
  const ssize_t count = recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
  if (count < 0) return is_momentary(errno) ? Need::input : Need::nothing;
  if (count == 0) return Need::nothing;
  if (lingers_) {
    discarded_ += static_cast<std::size_t>(count);
    return discarded_ <= discarded_max ? Need::input : Need::nothing;
  }
  if (!session_) session_.emplace(door_);
  return take_input({room.data(), static_cast<std::size_t>(count)});
}

// Takes `bytes`, which are all that was received and not taken yet, and sends what results.
Need GrpcConnection::take_input(std::string_view bytes) {
  do {
    door_.output.clear();
    do {
      session_->receive(bytes.substr(0, slice));
      bytes.remove_prefix(std::min(slice, bytes.size()));
      session_->write(door_.output, output_pause);
    } while (!bytes.empty() && door_.output.size() < output_pause);
    if (!send(door_.output)) return Need::nothing;
    if (!unsent_.empty()) {
      input_.keep(bytes);
      return Need::output;
    }
  } while (!bytes.empty() || door_.output.size() >= output_pause);
  input_.keep({});
  return session_->has_ended() ? linger() : Need::input;
}

// Sends, and keeps what the socket does not take now. Returns false if the client is gone.
bool GrpcConnection::send(std::string_view bytes) {
  if (bytes.empty()) return true;
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && !is_momentary(errno)) return false;
  const std::size_t gone = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (gone < bytes.size()) unsent_ = bytes.substr(gone);
  return true;
}

Need GrpcConnection::send_unsent() {
  if (!send(std::exchange(unsent_, {}))) return Need::nothing;
  if (!unsent_.empty()) return Need::output;
  moved_ = true;
  return take_input(input_.pending());
}

Need GrpcConnection::linger() noexcept {
  if (!session_->is_broken() || shutdown(fd_, SHUT_WR) != 0) return Need::nothing;
  lingers_ = true;
  return Need::input;
}

}  // namespace headgate::server
