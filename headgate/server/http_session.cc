#include "headgate/server/http_session.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <exception>
#include <utility>

#include "headgate/server/http_problem.h"

namespace headgate::server {
namespace {

using boost::asio::buffer;
using boost::system::error_code;

// Answers that are written before the client has to take some.
constexpr std::size_t output_pause = 256 * 1024;

std::optional<policy::Address> peer_of(const Socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return std::nullopt;
  if (endpoint.data()->sa_family == AF_INET) {
    std::uint8_t bytes[4];
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(endpoint.data());
    std::memcpy(bytes, &v4->sin_addr, sizeof bytes);
    return policy::Address::from_v4(bytes);
  }
  if (endpoint.data()->sa_family == AF_INET6) {
    std::uint8_t bytes[16];
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(endpoint.data());
    std::memcpy(bytes, &v6->sin6_addr, sizeof bytes);
    return policy::Address::from_v6(bytes);
  }
  return std::nullopt;
}

}  // namespace

// Ends the connection where a handler throws: memory was short.
class HttpSession::Guard {
 public:
  explicit Guard(HttpSession& session) noexcept : session_(session) {}

  template <class Handle>
  void operator()(Handle handle) noexcept {
    if (session_.all_ == nullptr) return;
    try {
      handle();
    } catch (const std::exception&) {
      session_.end();
    }
  }

 private:
  HttpSession& session_;
};

HttpSession::HttpSession(Socket socket, HttpDesk& desk)
    : socket_(std::move(socket)), desk_(desk), peer_(peer_of(socket_)), since_(desk.tick) {}

void HttpSession::start(HttpSessions& all, HttpSessions::iterator place) {
  all_ = &all;
  place_ = place;
  desk_.station.sight().connected(DoorKind::http);
  Guard{*this}([this] { await_input(); });
}

void HttpSession::look() {
  const auto seconds = phase_ == Phase::idle ? desk_.options.idle : desk_.options.patience;
  if ((desk_.tick - since_) / HttpDesk::ticks_per_second >= seconds.count()) end();
}

void HttpSession::stop() {
  stops_ = true;
  if (phase_ == Phase::idle) end();
}

void HttpSession::enter(Phase phase) noexcept {
  if (phase_ == phase) return;
  phase_ = phase;
  since_ = desk_.tick;
}

// Waits instead of reading at once, so that no buffer is set aside meanwhile.
void HttpSession::await_input() {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
    Guard{*self}([&] { error ? self->end() : self->on_input(); });
  });
}

void HttpSession::on_input() {
  error_code error;
  const std::size_t count = socket_.read_some(buffer(desk_.input), error);
  if (error == boost::asio::error::would_block) return await_input();
  if (error) return end();
  if (phase_ == Phase::lingering) return await_input();
  take_input({desk_.input.data(), count});
}

void HttpSession::take_input(std::string_view fresh) {
  desk_.output.clear();
  if (input_.empty()) {
    const std::size_t done = answer_all(fresh);
    input_.assign(fresh.substr(done));
  } else {
    input_.append(fresh);
    input_.erase(0, answer_all(input_));
    if (input_.empty()) std::string().swap(input_);
  }
  flush();
}

// Returns how many of the bytes nobody needs any more.
std::size_t HttpSession::answer_all(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && !ends_) {
    paused_ = desk_.output.size() >= output_pause;
    if (paused_) break;
    if (!parser_) {
      // RFC 9112, section 2.2: an empty line before a request line means nothing.
      const std::string_view rest = bytes.substr(done);
      if (rest.starts_with("\r\n")) {
        done += 2;
        continue;
      }
      if (rest == "\r") break;
      parser_ = desk_.take_parser();
    }
    if (!answer_one(bytes.substr(done))) break;
    done += parser_->size();
    desk_.give_parser(std::move(parser_));
    since_ = desk_.tick;
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
    Exchange exchange{desk_, parser_->request(), closing, peer_};
    if (refuse(exchange)) {
      ends_ = unread_ = true;
      return false;
    }
    if (parser_->awaits_continue() && parser_->size() == bytes.size()) {
      desk_.output.append("HTTP/1.1 100 Continue\r\n\r\n");
    }
    state = parser_->parse(bytes);
  }
  if (state == State::fault) {
    refuse_malformed();
    return false;
  }
  if (state != State::done) return false;
  HttpReply whole = reply(parser_->keeps_alive() && !stops_);
  Exchange exchange{desk_, parser_->request(), whole, peer_};
  if (judged_ || !refuse(exchange)) answer(exchange);
  judged_ = false;
  ends_ = !whole.keeps_alive();
  return true;
}

void HttpSession::refuse_malformed() {
  HttpReply closing = reply(false);
  Exchange exchange{desk_, parser_->request(), closing, peer_};
  answer_problem(exchange, parser_->fault().status, parser_->fault().detail);
  ends_ = unread_ = true;
}

HttpReply HttpSession::reply(bool keeps_alive) {
  const HttpRequest& request = parser_->request();
  return {desk_.output, desk_.date, {keeps_alive, request.is_http_1_0(), request.is_head()}};
}

void HttpSession::flush() {
  if (desk_.output.empty()) return go_on();
  error_code error;
  const std::size_t sent = socket_.write_some(buffer(desk_.output), error);
  if (error && error != boost::asio::error::would_block) return end();
  if (sent == desk_.output.size()) return go_on();
  output_.assign(desk_.output, sent);
  output_at_ = 0;
  enter(Phase::writing);
  await_output();
}

void HttpSession::await_output() {
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code error) {
    Guard{*self}([&] { error ? self->end() : self->on_output(); });
  });
}

void HttpSession::on_output() {
  error_code error;
  output_at_ += socket_.write_some(buffer(output_) + output_at_, error);
  if (error && error != boost::asio::error::would_block) return end();
  if (output_at_ < output_.size()) return await_output();
  std::string().swap(output_);
  go_on();
}

// All answers have gone.
void HttpSession::go_on() {
  if (ends_ || (stops_ && !parser_)) {
    if (!unread_ && input_.empty()) return end();
    // Closing a socket with unread input would take the answer away from the client.
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    if (error) return end();
    enter(Phase::lingering);
    return await_input();
  }
  if (paused_) {
    boost::asio::post(socket_.get_executor(),
                      [self = shared_from_this()] { Guard{*self}([&] { self->take_input({}); }); });
    return;
  }
  enter(parser_ || !input_.empty() ? Phase::reading : Phase::idle);
  await_input();
}

void HttpSession::end() noexcept {
  if (all_ == nullptr) return;
  const std::shared_ptr<HttpSession> self = std::move(*place_);
  all_->erase(place_);
  all_ = nullptr;
  error_code ignored;
  socket_.close(ignored);
  desk_.station.sight().disconnected(DoorKind::http);
}

}  // namespace headgate::server
