#include "headgate/server/http/session.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "headgate/server/http/problem.h"
#include "headgate/server/http/routes.h"

namespace headgate::server {
namespace {

// Answers that are written before the client has to take some.
constexpr std::size_t output_pause = 256 * 1024;

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

bool may_try_again() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpSession::HttpSession(int fd, HttpDoorContext& door)
    : fd_(fd), door_(door), peer_(peer_of(fd)), since_(door.tick) {}

HttpSession::~HttpSession() { close(fd_); }

bool HttpSession::is_overdue() const noexcept {
  const auto seconds = phase_ == Phase::idle ? door_.options.idle : door_.options.patience;
  return (door_.tick - since_) / HttpDoorContext::ticks_per_second >= seconds.count();
}

Need HttpSession::serve() noexcept {
  try {
    return phase_ == Phase::writing ? write() : read();
  } catch (const std::exception&) {  // memory was short
    return Need::nothing;
  }
}

void HttpSession::enter(Phase phase) noexcept {
  if (phase_ == phase) return;
  phase_ = phase;
  since_ = door_.tick;
}

Need HttpSession::read() {
  const ssize_t count = recv(fd_, door_.input.data(), door_.input.size(), MSG_DONTWAIT);
  if (count < 0) return may_try_again() ? Need::input : Need::nothing;
  if (count == 0) return Need::nothing;
  if (phase_ == Phase::lingering) return Need::input;
  return take_input({door_.input.data(), static_cast<std::size_t>(count)});
}

// Returns what it needs when all that can be answered is.
Need HttpSession::take_input(std::string_view fresh) {
  do {
    door_.output.clear();
    if (input_.empty()) {
      const std::size_t done = answer_all(fresh);
      input_.assign(fresh.substr(done));
    } else {
      input_.append(fresh);
      input_.erase(0, answer_all(input_));
      if (input_.empty()) std::string().swap(input_);
    }
    fresh = {};
    if (const Need need = send_answers(); need != Need::input) return need;
  } while (paused_);
  return go_on();
}

// Returns how many of the bytes nobody needs any more.
std::size_t HttpSession::answer_all(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && !ends_) {
    paused_ = door_.output.size() >= output_pause;
    if (paused_) break;
    if (!parser_) {
      // RFC 9112, section 2.2: an empty line before a request line means nothing.
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
    since_ = door_.tick;
  }
  return unread_ ? bytes.size() : done;
}

// Whether there was a whole request.
bool HttpSession::answer_one(std::string_view bytes) {
  using State = HttpParser::State;
  State state = parser_->parse(bytes);
  if (state == State::body && !judged_) {
    judged_ = true;
    HttpReply closing = reply(false);
    Exchange exchange{door_, parser_->request(), closing, peer_};
    if (refuse(exchange)) {
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
  Exchange exchange{door_, parser_->request(), whole, peer_};
  if (judged_ || !refuse(exchange)) answer(exchange);
  judged_ = false;
  ends_ = !whole.keeps_alive();
  return true;
}

void HttpSession::refuse_malformed() {
  HttpReply closing = reply(false);
  Exchange exchange{door_, parser_->request(), closing, peer_};
  answer_problem(exchange, parser_->fault().status, parser_->fault().detail);
  ends_ = unread_ = true;
}

HttpReply HttpSession::reply(bool keeps_alive) {
  const HttpRequest& request = parser_->request();
  return {door_.output, door_.date, {keeps_alive, request.is_http_1_0(), request.is_head()}};
}

// Need::input: they have gone.
Need HttpSession::send_answers() {
  if (door_.output.empty()) return Need::input;
  const ssize_t sent =
      send(fd_, door_.output.data(), door_.output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && !may_try_again()) return Need::nothing;
  const std::size_t size = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (size == door_.output.size()) return Need::input;
  output_.assign(door_.output, size);
  output_at_ = 0;
  enter(Phase::writing);
  return Need::output;
}

Need HttpSession::write() {
  const ssize_t sent = send(fd_, output_.data() + output_at_, output_.size() - output_at_,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return may_try_again() ? Need::output : Need::nothing;
  output_at_ += static_cast<std::size_t>(sent);
  if (output_at_ < output_.size()) return Need::output;
  std::string().swap(output_);
  return paused_ ? take_input({}) : go_on();
}

// All answers have gone.
Need HttpSession::go_on() {
  if (ends_ || (stops_ && !parser_)) {
    if (!unread_ && input_.empty()) return Need::nothing;
    // Closing a socket with unread input would take the answer away from the client.
    if (shutdown(fd_, SHUT_WR) != 0) return Need::nothing;
    enter(Phase::lingering);
    return Need::input;
  }
  enter(parser_ || !input_.empty() ? Phase::reading : Phase::idle);
  return Need::input;
}

}  // namespace headgate::server
