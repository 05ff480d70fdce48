#include "headgate/server/http/session.h"

#include <exception>
#include <utility>

#include "headgate/server/http/problem.h"
#include "headgate/server/http/routes.h"
#include "headgate/server/momentary.h"
#include "headgate/server/peer.h"

namespace headgate::server {
HttpSession::HttpSession(int fd, HttpDoorContext& door, Resume resume)
    : channel_(fd, door.credentials.now().tls.get(), door.unsent),
      door_(door),
      caller_{.fd = fd, .is_tcp = is_tcp(fd)},
      resume_(resume) {
  caller_.peer = peer_of(fd);
  if (caller_.is_tcp) caller_.local_port = local_port_of(fd);
}

Need HttpSession::serve(Turn& turn) noexcept {
  moved_ = false;
  try {
    caller_.answers_at.reset();
    waiting_ = {};
    if (channel_.has_unsent()) return channel_.flush() ? go_on() : Need::nothing;
    if (pending_ && !pending_->job->is_decided()) return Need::answer;
    return paused_ || pending_ ? take_input(input_.pending(), turn) : read(turn);
  } catch (const std::exception&) {  // on bad_alloc, closes only this connection
    return Need::nothing;
  }
}

void HttpSession::enter(Phase phase) noexcept {
  if (phase_ == phase) return;
  phase_ = phase;
  moved_ = true;
}

Need HttpSession::read(Turn& turn) {
  const bool discards = phase_ == Phase::lingering;
  // Of a stranger, no more than a head: it is kept while the answer is held back or not read.
  const std::size_t most = is_known() ? InputBuffer::unlimited : HttpParser::head_max;
  const std::span<char> room =
      discards ? std::span<char>(door_.input) : input_.room(door_.input, most);
  const ssize_t count = channel_.receive(room);
  if (count < 0) return is_momentary(errno) ? channel_.need() : Need::nothing;
  if (count == 0) return Need::nothing;
  if (discards) return channel_.need();
  return take_input(input_.received(static_cast<std::size_t>(count), door_.input), turn);
}

// Answers whole requests in `bytes`, which are all bytes received and not answered yet.
Need HttpSession::take_input(std::string_view bytes, Turn& turn) {
  door_.output.clear();
  if (pending_) finish_pending();
  input_.keep(bytes.substr(answer_all(bytes, turn)));
  turn.end_work();
  if (caller_.is_cut_off) return Need::nothing;
  if (caller_.answers_at) {
    if (!channel_.hold(door_.output)) return Need::nothing;
    enter(Phase::writing);
    return Need::pause;
  }
  return channel_.send(door_.output) ? go_on() : Need::nothing;
}

// Returns how many of the bytes are not needed any more.
std::size_t HttpSession::answer_all(std::string_view bytes, const Turn& turn) {
  std::size_t done = 0;
  paused_ = false;
  while (done < bytes.size() && !ends_ && !pending_) {
    // An answer that is held back holds those behind it back, too. Otherwise at least one request
    // is answered in each turn.
    paused_ = caller_.answers_at || caller_.is_cut_off ||
              (done > 0 && (door_.output.size() >= Channel::together || turn.is_over()));
    if (paused_) break;
    if (!parser_) {
      // RFC 9112, section 2.2: an empty line before a request line is ignored.
      const std::string_view rest = bytes.substr(done);
      if (rest.starts_with("\r\n")) {
        done += 2;
        continue;
      }
      if (rest == "\r") break;
      parser_ = door_.take_parser();
    }
    if (!answer_one(bytes.substr(done))) break;
    done += parser_->size();
    door_.give_parser(std::move(parser_));
    moved_ = true;
  }
  return unread_ ? bytes.size() : done;
}

// Returns whether there was a whole request.
bool HttpSession::answer_one(std::string_view bytes) {
  using State = HttpParser::State;
  State state = parser_->parse(bytes);
  if (state == State::body && !head_checked_) {
    head_checked_ = true;
    HttpReply closing = reply(false);
    Exchange exchange = this->exchange(closing);
    if (answer_head(exchange)) {
      ends_ = unread_ = true;
      return false;
    }
    if (parser_->awaits_continue() && parser_->size() == bytes.size()) {
      door_.output.append("HTTP/1.1 100 Continue\r\n\r\n");
    }
    state = parser_->parse(bytes);
  }
  if (state == State::fault) {
    refuse_malformed();
    return false;
  }
  if (state != State::done) return false;
  HttpReply whole = reply(parser_->keeps_alive() && !stops_);
  Exchange exchange = this->exchange(whole);
  const bool has_own_turn = std::exchange(alone_, false);
  if (head_checked_ || !refuse(exchange)) {
    // Whatever the client's other requests take, those of others come first.
    if (!has_own_turn && takes_long(exchange.request)) {
      wait_for_own_turn();
      return false;
    }
    answer(exchange);
  }
  hold(whole);
  head_checked_ = false;
  ends_ = !whole.keeps_alive();
  return true;
}

// The request is read again then.
void HttpSession::wait_for_own_turn() {
  alone_ = paused_ = true;
  head_checked_ = false;
  door_.give_parser(std::move(parser_));
}

void HttpSession::refuse_malformed() {
  HttpReply closing = reply(false);
  Exchange exchange = this->exchange(closing);
  answer_problem(exchange, parser_->fault().status, parser_->fault().detail);
  ends_ = unread_ = true;
}

HttpReply HttpSession::reply(bool keeps_alive) {
  const HttpRequest& request = parser_->request();
  return {door_.output, door_.date, {keeps_alive, request.is_http_1_0(), request.is_head()}};
}

Exchange HttpSession::exchange(HttpReply& reply) {
  return {door_, parser_->request(), reply, caller_, resume_, pending_};
}

// Notes when the reply may be sent, if it is to wait.
void HttpSession::hold(HttpReply& reply) noexcept {
  if (reply.held() == 0) return;
  waiting_ = reply.take_waiting();
  caller_.answers_at =
      Turn::Clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(reply.held()));
}

void HttpSession::finish_pending() {
  const HttpPending pending = std::move(*pending_);
  pending_.reset();
  HttpReply::Connection connection = pending.connection;
  connection.keeps_alive = connection.keeps_alive && !stops_;
  HttpReply reply(door_.output, door_.date, connection);
  pending.finish(pending, door_, reply);
  hold(reply);
  ends_ = !reply.keeps_alive();
  moved_ = true;
}

// Returns what is needed after what was possible in this turn.
Need HttpSession::go_on() {
  if (channel_.has_unsent()) {
    enter(Phase::writing);
    return Need::output;
  }
  if (pending_) {
    enter(Phase::deciding);
    return pending_->job->is_decided() ? Need::turn : channel_.need();
  }
  if (paused_) {
    enter(Phase::reading);
    return Need::turn;
  }
  if (ends_ || (stops_ && !parser_)) {
    if (!unread_ && input_.pending().empty()) return Need::nothing;
    // Closing a socket with unread input resets the connection, and the client loses the answer.
    if (!channel_.end()) return Need::nothing;
    enter(Phase::lingering);
    return channel_.need();
  }
  enter(parser_ || !input_.pending().empty() ? Phase::reading : Phase::idle);
  return channel_.need();
}

}  // namespace headgate::server
