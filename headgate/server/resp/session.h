// One client's session: its commands and what they set. No I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headgate/net/resp_writer.h"
#include "headgate/server/resp/command.h"
#include "headgate/server/resp/door_context.h"
#include "headgate/server/resp/waiting_replies.h"

namespace headgate::server {

// Not thread-safe. The door outlives this.
class RespSession {
 public:
  explicit RespSession(RespDoorContext& door) noexcept;

  enum class Next : std::uint8_t {
    command,      // the client may send further commands
    later,        // the command takes long and was not answered: it needs a turn of its own
    close,        // close the connection after all replies are sent
    wrong_token,  // the reply says that the token is wrong, and is to be delayed
  };

  // Answers one command, its name first. Appends replies to `replies` in the order of the commands,
  // some of them only when the door's throttles are flushed; `replies` must stay until then. Or
  // adds one to `waiting`, whose end `replies` is. `alone`: the turn is for this command.
  Next answer(std::span<const std::string_view> call, std::string& replies, WaitingReplies& waiting,
              bool alone);

  // Whether the client has sent a token that is in force, or there is none.
  [[nodiscard]] bool is_trusted() const noexcept {
    return door_.credentials.now().knows(shown_token_);
  }

  // Appends an error after all replies to earlier commands.
  void fail(std::string_view error, std::string& replies);

 private:
  using Words = std::span<const std::string_view>;

  Next answer_other(const RespCommand& command, Words call, net::RespWriter& out,
                    WaitingReplies& waiting);
  Next refuse(const RespCommand* command, Words call, net::RespWriter& out) const;
  void hello(Words call, net::RespWriter& out);
  void auth(Words call, net::RespWriter& out);
  void client(Words call, net::RespWriter& out);
  void reset();
  bool shows_token(std::string_view user, std::string_view password, net::RespWriter& out);
  bool take_name(std::string_view name, net::RespWriter& out);

  RespDoorContext& door_;
  std::uint64_t id_;
  net::RespVersion version_ = net::RespVersion::resp2;
  std::uint64_t shown_token_ = 0;  // as Secrets::knows() takes it
  bool wrong_token_ = false;       // this command has sent a wrong one
  std::string name_;
};

}  // namespace headgate::server
