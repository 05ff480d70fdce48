#include "headgate/server/envoy/grpc_connection.h"

#include <algorithm>
#include <exception>

#include "headgate/server/momentary.h"

namespace headgate::server {
namespace {

// The input after which answers are collected and the clock is read: some tens of calls, whose
// answers together do not become much more than Channel::together.
constexpr std::size_t slice = 2048;

// The input that is discarded after the last answer, so that a client that has sent more than we
// read still receives it. A client that sends more is not interested.
constexpr std::size_t discarded_max = 256 * 1024;

// How often a client that only watches is pinged, as a share of the time after which it would be
// closed: so that one lost second does not matter.
constexpr std::uint64_t pings_per_timeout = 3;

}  // namespace

GrpcConnection::GrpcConnection(int fd, GrpcDoorContext& door, Resume resume)
    : channel_(fd, door.credentials.now().tls.get(), door.unsent, "h2"),
      door_(door),
      resume_(resume),
      needs_no_token_(!door.credentials.now().wants_token()) {}

GrpcConnection::~GrpcConnection() {
  if (!is_idle()) return;
  try {
    std::string goodbye;
    session_->say_goodbye(goodbye);
    [[maybe_unused]] const bool sent = channel_.send(goodbye);
  } catch (const std::exception&) {  // on bad_alloc, closes without a word
  }
}

// On bad_alloc, closes only this connection.
template <class Act>
auto GrpcConnection::attempt(const Act& act) noexcept -> decltype(act()) {
  moved_ = false;
  const std::uint64_t before = session_ ? session_->progress() : 0;
  try {
    const auto need = act();
    if (session_ && session_->progress() != before) moved_ = true;
    return need;
  } catch (const std::exception&) {
    return Need::nothing;
  }
}

Need GrpcConnection::serve(Turn& turn) noexcept {
  return attempt([&] {
    answers_at_.reset();
    if (!channel_.has_unsent()) {
      return has_more() ? take_input(input_.pending(), turn) : read(turn);
    }
    if (!channel_.flush()) return Need::nothing;
    moved_ = !channel_.has_unsent();
    return go_on();
  });
}

std::optional<Need> GrpcConnection::tick() noexcept {
  return attempt([&]() -> std::optional<Need> {
    // What is unsent has its own timeout.
    if (!session_ || lingers_ || channel_.has_unsent()) return std::nullopt;
    const auto seconds = [](std::chrono::seconds time) {
      return static_cast<std::uint64_t>(time.count());
    };
    const std::uint64_t patience = seconds(door_.options.patience);
    const std::uint64_t timeout = std::min(patience, seconds(door_.options.idle));
    const bool expires = door_.now > patience && session_->expire(door_.now - patience);
    const bool pings = door_.now % std::max<std::uint64_t>(timeout / pings_per_timeout, 1) == 0 &&
                       session_->ping_watcher();
    const bool refuses = session_->refuse_held(Turn::Clock::now());
    if (!expires && !pings && !refuses) return std::nullopt;
    Turn turn(1);
    return take_input(input_.pending(), turn);
  });
}

std::optional<Need> GrpcConnection::stop() noexcept {
  return attempt([&]() -> std::optional<Need> {
    if (!session_ || lingers_) return std::nullopt;
    session_->stop();
    if (channel_.has_unsent()) return std::nullopt;
    Turn turn(1);
    return take_input(input_.pending(), turn);
  });
}

Need GrpcConnection::read(Turn& turn) {
  auto& room = door_.input;
  const ssize_t count = channel_.receive(room);
  if (count < 0) return is_momentary(errno) ? channel_.need() : Need::nothing;
  if (count == 0) {
    sends_no_more_ = true;
    return session_ && !lingers_ ? go_on() : Need::nothing;
  }
  const auto size = static_cast<std::size_t>(count);
  if (lingers_) {
    discarded_ += size;
    return discarded_ <= discarded_max ? channel_.need() : Need::nothing;
  }
  if (!session_) session_.emplace(door_, resume_);
  return take_input({room.data(), size}, turn);
}

// Takes `bytes`, which are all that was received and not taken yet, until the turn is over, and
// sends what results. What is left waits for another turn.
Need GrpcConnection::take_input(std::string_view bytes, Turn& turn) {
  door_.output.clear();
  session_->answer_queued();
  do {
    if (!session_->has_queued()) {
      session_->receive(bytes.substr(0, slice));
      bytes.remove_prefix(std::min(slice, bytes.size()));
    }
    if (!count_wrong_tokens()) return Need::nothing;
    session_->write(door_.output, Channel::together);
  } while (!bytes.empty() && !session_->has_queued() && !answers_at_ &&
           door_.output.size() < Channel::together && !turn.is_over());
  input_.keep(bytes);
  turn.end_work();
  if (answers_at_) return channel_.hold(door_.output) ? Need::pause : Need::nothing;
  return channel_.send(door_.output) ? go_on() : Need::nothing;
}

// Says when calls with wrong tokens are refused, which tick() does: others do not wait for them.
// The last one ends the connection: what is answered then is sent with its refusal. Returns false
// if the connection is to be closed.
bool GrpcConnection::count_wrong_tokens() {
  while (wrong_tokens_ < std::min(session_->wrong_tokens(), WrongTokens::tries_max)) {
    const auto answer = door_.wrong_tokens.count(++wrong_tokens_, fd());
    if (!answer) return false;
    session_->hold_until(answer->at);
    if (!answer->is_last) continue;
    answers_at_ = answer->at;
    session_->refuse_held(answer->at);
    session_->write(door_.output, Channel::Unsent::most);
    session_->break_off();
  }
  return true;
}

// Whether there is something to do without further input.
bool GrpcConnection::has_more() const noexcept {
  return !input_.pending().empty() ||
         (session_ && (session_->wants_write() || session_->has_queued()));
}

// Called when what was to be sent is sent, or unsent.
Need GrpcConnection::go_on() {
  if (channel_.has_unsent()) return Need::output;
  if (session_->is_full() && !session_->wants_write()) return Need::answer;
  if (has_more()) return Need::turn;
  if (sends_no_more_) return session_->awaits_decisions() ? Need::answer : Need::nothing;
  if (!session_->has_ended()) return channel_.need();
  if (!session_->is_broken() || !channel_.end()) return Need::nothing;
  lingers_ = true;
  return channel_.need();
}

}  // namespace headgate::server
