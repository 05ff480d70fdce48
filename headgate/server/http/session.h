// One connection of the HTTP door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/address/address.h"
#include "headgate/server/http/door_context.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/ready_set.h"

namespace headgate::server {

// Reads requests and answers them in order; what comes together is answered together. While it
// waits it has no buffers.
class HttpSession {
 public:
  // Owns `fd`, a non-blocking stream socket. The door outlives this.
  HttpSession(int fd, HttpDoorContext& door);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  // What it needs is there: does what can be done now, and says what it needs next.
  [[nodiscard]] Need serve() noexcept;

  // From now on, only what has begun is answered; then it needs nothing any more.
  void stop() noexcept { stops_ = true; }

  // Nothing has begun.
  [[nodiscard]] bool is_idle() const noexcept { return phase_ == Phase::idle; }
  // It has been at the same thing for too long.
  [[nodiscard]] bool is_overdue() const noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  enum class Phase : std::uint8_t {
    idle,       // waits for a request
    reading,    // waits for the rest of one
    writing,    // waits for the client to take its answers
    lingering,  // has said all, and reads on so that the client gets it
  };

  void enter(Phase phase) noexcept;
  [[nodiscard]] Need read();
  [[nodiscard]] Need write();
  [[nodiscard]] Need take_input(std::string_view fresh);
  std::size_t answer_all(std::string_view bytes);
  bool answer_one(std::string_view bytes);
  void refuse_malformed();
  [[nodiscard]] Need send_answers();
  [[nodiscard]] Need go_on();
  [[nodiscard]] HttpReply reply(bool keeps_alive);

  int fd_;
  HttpDoorContext& door_;
  std::optional<policy::Address> peer_;
  std::uint32_t since_;  // the tick in which the phase began
  Phase phase_ = Phase::idle;
  bool stops_ = false;   // no answer after those to what has begun
  bool ends_ = false;    // no answer after those that are written
  bool unread_ = false;  // ... and input is left that nobody will read
  bool paused_ = false;  // input is left for when the client has taken its answers
  bool judged_ = false;  // the head of the request was looked at

  std::unique_ptr<HttpParser> parser_;  // of a request that has begun
  std::string input_;                   // what has come of it
  std::string output_;                  // answers that the client has not taken
  std::size_t output_at_ = 0;
};

}  // namespace headgate::server
