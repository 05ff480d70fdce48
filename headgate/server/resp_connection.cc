#include "headgate/server/resp_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headgate::server {
namespace {

constexpr std::size_t replies_max = std::size_t{64} << 10;  // before they must leave [bytes]

bool is_momentary(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

RespConnection::~RespConnection() { close(fd_); }

RespConnection::Need RespConnection::go_on() {
  moved_ = false;
  if (unsent_.empty()) return receive();
  if (!send(std::exchange(unsent_, {}))) return Need::nothing;
  if (!unsent_.empty()) return Need::output;
  moved_ = true;
  return phase_ == Phase::serving ? serve(input_.pending()) : linger();
}

RespConnection::Need RespConnection::receive() {
  const std::span<char> room = input_.room(buffers_.input);
  const ssize_t got = recv(fd_, room.data(), room.size(), 0);
  if (got < 0) return is_momentary(errno) ? Need::input : Need::nothing;
  if (got == 0) return Need::nothing;
  if (phase_ == Phase::lingering) return Need::input;
  return serve(input_.received(static_cast<std::size_t>(got), buffers_.input));
}

// Answers all commands that are whole, as long as their replies leave.
RespConnection::Need RespConnection::serve(std::string_view bytes) {
  const std::size_t before = bytes.size();
  bool more = true;
  while (more && unsent_.empty()) {
    buffers_.replies.clear();
    more = answer(bytes);
    if (!send(buffers_.replies)) return Need::nothing;
  }
  if (bytes.size() < before) moved_ = true;
  input_.keep(phase_ == Phase::serving ? bytes : std::string_view());
  if (!unsent_.empty()) return Need::output;
  return phase_ == Phase::serving ? Need::input : linger();
}

// Writes replies until there is no whole command left, or enough of them. True: there may be more.
bool RespConnection::answer(std::string_view& bytes) {
  using Found = net::RespReader::Found;
  std::string& replies = buffers_.replies;
  while (replies.size() < replies_max) {
    const Found found = reader_.read(bytes);
    if (found == Found::fault) {
      session_.fail("ERR " + reader_.fault(), replies);
      phase_ = Phase::closing;
      return false;
    }
    const bool closes = found == Found::command &&
                        session_.answer(reader_.arguments(), replies) == RespSession::Next::close;
    bytes.remove_prefix(reader_.used());
    if (closes) phase_ = Phase::closing;
    if (closes || found == Found::more) {
      session_.finish(replies);
      return false;
    }
  }
  session_.finish(replies);
  return true;
}

// Sends, and keeps what does not leave now. False: the client is gone.
bool RespConnection::send(std::string_view bytes) {
  if (bytes.empty()) return true;
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0 && !is_momentary(errno)) return false;
  const std::size_t gone = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (gone < bytes.size()) unsent_ = bytes.substr(gone);
  return true;
}

RespConnection::Need RespConnection::linger() {
  phase_ = Phase::lingering;
  input_.keep({});
  return shutdown(fd_, SHUT_WR) == 0 ? Need::input : Need::nothing;
}

}  // namespace headgate::server
