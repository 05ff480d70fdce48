// One connection of the HTTP door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/address.h"
#include "headgate/server/http_desk.h"
#include "headgate/server/http_routes.h"

namespace headgate::server {

class HttpSession;

// All connections of a door.
using HttpSessions = std::list<std::shared_ptr<HttpSession>>;

// Reads requests and answers them in order; what comes together is answered together. While it
// waits it has no buffers.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(Socket socket, HttpDesk& desk);

  // Once, when it has its place in `all`, which it leaves when it has ended.
  void start(HttpSessions& all, HttpSessions::iterator place);

  // Ends the connection if it has been at the same thing for too long.
  void look();

  // Ends the connection when what has begun is answered.
  void stop();

 private:
  enum class Phase : std::uint8_t {
    idle,       // waits for a request
    reading,    // waits for the rest of one
    writing,    // waits for the client to take its answers
    lingering,  // has said all, and reads on so that the client gets it
  };
  class Guard;

  void enter(Phase phase) noexcept;
  void await_input();
  void on_input();
  void take_input(std::string_view fresh);
  std::size_t answer_all(std::string_view bytes);
  bool answer_one(std::string_view bytes);
  void refuse_malformed();
  void flush();
  void await_output();
  void on_output();
  void go_on();
  void end() noexcept;
  [[nodiscard]] HttpReply reply(bool keeps_alive);

  Socket socket_;
  HttpDesk& desk_;
  HttpSessions* all_ = nullptr;  // nullptr: has not started, or has ended
  HttpSessions::iterator place_;
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
