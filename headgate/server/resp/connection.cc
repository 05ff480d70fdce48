#include "headgate/server/resp/connection.h"

#include "headgate/server/momentary.h"

namespace headgate::server {
namespace {

// The clock is read once per so many commands: reading it takes a tenth of the shortest one, and so
// many of the longest ones take less than a turn, apart from those that get one of their own.
constexpr unsigned unwatched = 8;

// The most bytes of a command that are kept for a client without the token until the rest arrives:
// as long as a head of HTTP, which has the token, too.
constexpr std::size_t stranger_max = std::size_t{16} << 10;

}  // namespace

void RespConnection::receive(std::span<char> shared, std::string& replies, const Turn& turn) {
  moved_ = false;
  answers_at_.reset();
  if (channel_.has_unsent() || phase_ == Phase::closing) return;
  take_ready(replies);
  if (waiting_.is_full()) return;
  if (more_) return answer(input_.pending(), replies, turn);
  // Of a stranger, no more than a command: it is kept while a reply is held back, too.
  const std::size_t most = session_.is_trusted() ? InputBuffer::unlimited : stranger_max + 1;
  const std::span<char> room = input_.room(shared, most);
  const ssize_t got = channel_.receive(room);
  if (got > 0) {
    if (phase_ == Phase::serving) {
      answer(input_.received(static_cast<std::size_t>(got), shared), replies, turn);
    }
  } else if (got == 0 && phase_ == Phase::serving && !waiting_.is_empty()) {
    phase_ = Phase::closing;  // it may still read
  } else if (got == 0 || !is_momentary(errno)) {
    phase_ = Phase::gone;
  }
}

Need RespConnection::reply(std::string& replies) {
  if (phase_ == Phase::gone) return Need::nothing;
  if (answers_at_) {
    if (!channel_.hold(replies)) return Need::nothing;
    return Need::pause;
  }
  if (channel_.has_unsent()) {
    if (!channel_.flush()) return Need::nothing;
    moved_ = !channel_.has_unsent();
  } else {
    take_ready(replies);
    if (!channel_.send(replies)) return Need::nothing;
  }
  if (channel_.has_unsent()) return Need::output;
  if (waiting_.has_ready()) return Need::turn;
  if (phase_ == Phase::closing) return waiting_.is_empty() ? linger() : Need::answer;
  if (waiting_.is_full()) return Need::answer;
  return more_ ? Need::turn : channel_.need();
}

void RespConnection::take_ready(std::string& replies) {
  if (waiting_.has_ready()) moved_ = true;
  waiting_.take_ready(door_.worker, replies);
}

// Answers whole commands until the turn is over or the replies are long enough to be sent, and
// keeps the rest of the input.
void RespConnection::answer(std::string_view bytes, std::string& replies, const Turn& turn) {
  using Found = net::RespReader::Found;
  using Next = RespSession::Next;
  const std::size_t before = bytes.size();
  more_ = true;
  for (unsigned count = 1; more_; ++count) {
    const Found found = reader_.read(bytes);
    std::string& end = waiting_.end(replies);
    if (found == Found::fault) session_.fail("ERR " + reader_.fault(), end);
    const Next next = found == Found::command
                          ? session_.answer(reader_.arguments(), end, waiting_, alone_)
                          : Next::command;
    alone_ = next == Next::later;
    if (alone_) break;
    bytes.remove_prefix(reader_.used());
    const bool is_too_long =
        found == Found::more && bytes.size() > stranger_max && !session_.is_trusted();
    if (is_too_long) session_.fail("ERR Protocol error: unauthenticated bulk length", end);
    const bool is_unreadable = found == Found::fault || is_too_long;
    if (is_unreadable) door_.worker.stats().unreadable(DoorKind::resp);
    if (is_unreadable || next == Next::close) phase_ = Phase::closing;
    if (next == Next::wrong_token) delay();
    if (phase_ != Phase::serving || found == Found::more) more_ = false;
    if (next == Next::wrong_token || replies.size() >= Channel::together || waiting_.is_full() ||
        (count % unwatched == 0 && turn.is_over())) {
      break;
    }
  }
  if (bytes.size() < before) moved_ = true;
  input_.keep(phase_ == Phase::serving ? bytes : std::string_view());
}

// Called after a wrong token.
void RespConnection::delay() {
  const auto answer = door_.wrong_tokens.count(++wrong_tokens_, fd());
  if (!answer) {
    phase_ = Phase::gone;
    return;
  }
  answers_at_ = answer->at;
  if (answer->is_last) phase_ = Phase::closing;
}

Need RespConnection::linger() {
  phase_ = Phase::lingering;
  return channel_.end() ? channel_.need() : Need::nothing;
}

}  // namespace headgate::server
