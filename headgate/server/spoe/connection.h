// One connection of the SPOE door. Never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>

#include "headgate/net/spoe_reader.h"
#include "headgate/server/channel.h"
#include "headgate/server/decision_job.h"
#include "headgate/server/input_buffer.h"
#include "headgate/server/ready_set.h"
#include "headgate/server/spoe/ack.h"
#include "headgate/server/spoe/door_context.h"
#include "headgate/server/spoe/messages.h"
#include "headgate/server/turn.h"

namespace headgate::server {

// After the handshake HAProxy sends NOTIFY frames, and gets an ACK for each. With pipelining,
// frames go on while some wait for the store, and ACKs are sent in the order of the answers. A
// connection that waits for a frame has no buffers.
class SpoeConnection {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives this. Throws std::bad_alloc, and
  // then does not own `fd`. `resume` as ConnectionList passes it.
  SpoeConnection(int fd, SpoeDoorContext& door, Resume resume)
      : channel_(fd, door.credentials.now().tls.get(), door.unsent), door_(door), resume_(resume) {}

  // Called when the socket is ready for what was needed, or after `resume`: until the turn is over,
  // reads and sends what it can without waiting, and returns what it needs next. Need::nothing:
  // close the connection.
  [[nodiscard]] Need serve(Turn& turn) noexcept;

  // For ConnectionList. A stranger is one before its handshake.
  [[nodiscard]] int fd() const noexcept { return channel_.fd(); }
  [[nodiscard]] bool is_established() const noexcept { return channel_.is_established(); }
  [[nodiscard]] bool has_received() const noexcept { return channel_.has_received(); }
  [[nodiscard]] bool is_trusted() const noexcept { return greeted_ && channel_.is_established(); }
  [[nodiscard]] bool is_idle() const noexcept {
    return phase_ == Phase::serving && !channel_.has_unsent() && input_.pending().empty() &&
           waiting_.empty() && !reader_.is_joining();
  }
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  [[nodiscard]] static Turn::Clock::time_point answers_at() noexcept { return {}; }  // never pauses

 private:
  enum class Phase : std::uint8_t {
    greeting,  // waits for the handshake
    serving,
    closing,    // the last frame is to be sent
    lingering,  // all is sent; discards input, so that the close does not reset the connection
  };

  // The decisions of one connection that wait at the same time with pipelining. HAProxy sends 20
  // frames by default, and less than a tenth of what a worker can have are of one connection.
  static constexpr std::size_t waiting_most = 64;

  struct Waiting {
    Job::Held<DecisionJob> job;
    SpoeAckTerms terms;
  };

  [[nodiscard]] bool receive(const Turn& turn);
  void answer(std::string_view bytes, const Turn& turn);
  void answer(const net::SpoeFrame& frame);
  void greet(const net::SpoeFrame& frame);
  void notice(const net::SpoeFrame& frame);
  [[nodiscard]] bool settle(const SpoeResponse& response);
  void decide(const SpoeRequest& request, SpoeAckTerms terms);
  void refuse(const net::SpoeFrame& frame);
  [[nodiscard]] SpoeAckTerms terms_of(const net::SpoeFrame& frame) const noexcept;
  void warn(std::string_view it_does);
  void fail(const net::SpoeFault& fault);
  void end(const net::SpoeFault& fault);
  void take_decided();
  [[nodiscard]] bool has_decided() const noexcept;
  [[nodiscard]] bool is_full() const noexcept {
    return waiting_.size() >= (pipelining_ ? waiting_most : 1) ||
           !door_.worker.answers().may_owe_more(waiting_.size());
  }
  [[nodiscard]] Need go_on() noexcept;

  Channel channel_;
  SpoeDoorContext& door_;
  const Resume resume_;
  net::SpoeReader reader_;
  InputBuffer input_;
  std::list<Waiting> waiting_;
  std::uint32_t frame_max_ = net::spoe_frame_min;
  Phase phase_ = Phase::greeting;
  bool greeted_ = false;
  bool pipelining_ = false;
  bool moved_ = false;  // the last turn answered a frame, or sent all unsent bytes
  bool more_ = false;   // the pending input may contain whole frames, for another turn
};

}  // namespace headgate::server
