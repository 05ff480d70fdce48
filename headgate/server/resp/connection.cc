#include "headgate/server/resp/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "headgate/server/momentary.h"

namespace headgate::server {
namespace {

// After this many bytes, replies are sent before further commands are answered: bounds the memory
// of a pipeline. As much as a turn reads.
constexpr std::size_t replies_max = std::size_t{64} << 10;

}  // namespace

RespConnection::~RespConnection() { close(fd_); }

void RespConnection::receive(std::span<char> shared, std::string& replies) {
  moved_ = more_ = false;
  if (!unsent_.empty()) return;
  const std::span<char> room = input_.room(shared);
  const ssize_t got = recv(fd_, room.data(), room.size(), 0);
  if (got > 0) {
    if (phase_ == Phase::serving) {
      answer(input_.received(static_cast<std::size_t>(got), shared), replies);
    }
  } else if (got == 0 || !is_momentary(errno)) {
    phase_ = Phase::gone;
  }
}

Need RespConnection::reply(std::string& replies) {
  if (phase_ == Phase::gone) return Need::nothing;
  if (!unsent_.empty()) {
    if (!send(std::exchange(unsent_, {}))) return Need::nothing;
    if (!unsent_.empty()) return Need::output;
    moved_ = true;
    more_ = phase_ == Phase::serving;  // no command was answered while replies were unsent
  } else if (!send(replies)) {
    return Need::nothing;
  }
  while (more_ && unsent_.empty()) {
    replies.clear();
    answer(input_.pending(), replies);
    door_.throttles.flush();
    if (!send(replies)) return Need::nothing;
  }
  if (!unsent_.empty()) return Need::output;
  return phase_ == Phase::closing ? linger() : Need::input;
}

// Answers whole commands until the replies reach replies_max, and keeps the rest of the input.
void RespConnection::answer(std::string_view bytes, std::string& replies) {
  using Found = net::RespReader::Found;
  const std::size_t before = bytes.size();
  more_ = true;
  while (more_ && replies.size() < replies_max) {
    const Found found = reader_.read(bytes);
    if (found == Found::fault) session_.fail("ERR " + reader_.fault(), replies);
    const bool closes = found == Found::fault ||
                        (found == Found::command &&
                         session_.answer(reader_.arguments(), replies) == RespSession::Next::close);
    bytes.remove_prefix(reader_.used());
    if (closes) phase_ = Phase::closing;
    if (closes || found == Found::more) more_ = false;
  }
  if (bytes.size() < before) moved_ = true;
  input_.keep(phase_ == Phase::serving ? bytes : std::string_view());
}

// Sends, and keeps what the socket does not take now. Returns false if the client is gone.
bool RespConnection::send(std::string_view bytes) {
  if (bytes.empty()) return true;
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0 && !is_momentary(errno)) return false;
  const std::size_t gone = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (gone < bytes.size()) unsent_ = bytes.substr(gone);
  return true;
}

Need RespConnection::linger() {
  phase_ = Phase::lingering;
  return shutdown(fd_, SHUT_WR) == 0 ? Need::input : Need::nothing;
}

}  // namespace headgate::server
