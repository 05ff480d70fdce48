#include "headgate/server/resp/session.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "headgate/base/ascii.h"
#include "headgate/server/resp/decide.h"
#include "headgate/server/resp/info.h"
#include "headgate/server/resp/reserve.h"

namespace headgate::server {
namespace {

constexpr std::size_t name_max = 128;   // the longest client name [bytes]: bounds memory
constexpr std::size_t shown_max = 128;  // the most bytes of a word in an error, as in Redis
constexpr std::string_view only_user = "default";

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string quoted(std::string_view text) {
  return '\'' + std::string(text.substr(0, shown_max)) + '\'';
}

// Recognises HTTP requests. A web page can make a browser send one to this port, with commands in
// its body; so the connection is closed, as Redis does.
bool is_http(std::string_view name) noexcept {
  return equal_ignoring_case(name, "post") || equal_ignoring_case(name, "host:");
}

}  // namespace

RespSession::RespSession(RespDoorContext& door) noexcept : door_(door), id_(next_id()) {}

RespSession::Next RespSession::answer(Words call, std::string& replies, WaitingReplies& waiting,
                                      bool alone) {
  using Id = RespCommand::Id;
  const RespCommand* command = find_command(call.front());
  const bool allowed =
      command != nullptr && command->takes(call.size()) && (is_trusted() || command->before_auth);
  if (allowed && command->id == Id::cl_throttle) {
    door_.throttles.add(redis::ThrottleDialect::redis_cell, call, replies, waiting);
    return Next::command;
  }
  if (allowed && command->id == Id::throttle) {
    door_.throttles.add(redis::ThrottleDialect::throttlecrab, call, replies, waiting);
    return Next::command;
  }
  if (allowed && command->takes_long && !alone) return Next::later;
  door_.throttles.flush();
  net::RespWriter out(replies, version_);
  return allowed ? answer_other(*command, call, out, waiting) : refuse(command, call, out);
}

void RespSession::fail(std::string_view error, std::string& replies) {
  door_.throttles.flush();
  net::RespWriter(replies, version_).error(error);
}

RespSession::Next RespSession::answer_other(const RespCommand& command, Words call,
                                            net::RespWriter& out, WaitingReplies& waiting) {
  using Id = RespCommand::Id;
  switch (command.id) {
    case Id::cl_throttle:
    case Id::throttle:
      break;
    case Id::hg_decide:
      answer_decide(limit::Op::spend, call, door_.worker, out, waiting);
      break;
    case Id::hg_peek:
      answer_decide(limit::Op::peek, call, door_.worker, out, waiting);
      break;
    case Id::hg_refund:
      answer_decide(limit::Op::refund, call, door_.worker, out, waiting);
      break;
    case Id::hg_reserve:
      answer_reserve(call, door_.worker, out, waiting);
      break;
    case Id::hg_settle:
      answer_settle(call, door_.worker, out, waiting);
      break;
    case Id::ping:
      call.size() == 1 ? out.simple("PONG") : out.bulk(call[1]);
      break;
    case Id::echo:
      out.bulk(call[1]);
      break;
    case Id::hello:
      hello(call, out);
      break;
    case Id::auth:
      auth(call, out);
      break;
    case Id::select:
      call[1] == "0" ? out.simple("OK") : out.error("ERR DB index is out of range");
      break;
    case Id::client:
      client(call, out);
      break;
    case Id::command:
      answer_command(call, out);
      break;
    case Id::config:
      answer_config(call, out);
      break;
    case Id::info:
      answer_info(call, door_, out);
      break;
    case Id::quit:
      out.simple("OK");
      return Next::close;
    case Id::reset:
      reset();
      out.simple("RESET");
      break;
  }
  return std::exchange(wrong_token_, false) ? Next::wrong_token : Next::command;
}

// Writes the errors in the words of Redis. The error of an unknown command repeats the beginning of
// its arguments.
RespSession::Next RespSession::refuse(const RespCommand* command, Words call,
                                      net::RespWriter& out) const {
  if (is_http(call.front())) return Next::close;
  if (command != nullptr && !command->takes(call.size())) {
    out.error("ERR wrong number of arguments for '" + std::string(command->name) + "' command");
  } else if (!is_trusted()) {
    out.error("NOAUTH Authentication required.");
    if (shown_token_ != 0) {
      return Next::close;  // another token is in force: clients send it when they connect
    }
  } else {
    std::string why = "ERR unknown command " + quoted(call[0]) + ", with args beginning with: ";
    const std::size_t head = why.size();
    for (std::size_t i = 1; i < call.size() && why.size() - head < shown_max; ++i) {
      why += quoted(call[i]) + ' ';
    }
    out.error(why);
  }
  return Next::command;
}

// HELLO [version [AUTH user password] [SETNAME name]]
void RespSession::hello(Words call, net::RespWriter& out) {
  net::RespVersion version = version_;
  if (call.size() > 1) {
    if (call[1] != "2" && call[1] != "3") {
      return out.error("NOPROTO unsupported protocol version");
    }
    version = call[1] == "2" ? net::RespVersion::resp2 : net::RespVersion::resp3;
  }
  std::optional<std::string_view> name;
  for (std::size_t i = 2; i < call.size();) {
    const std::size_t left = call.size() - i - 1;
    if (equal_ignoring_case(call[i], "auth") && left >= 2) {
      if (!shows_token(call[i + 1], call[i + 2], out)) return;
      i += 3;
    } else if (equal_ignoring_case(call[i], "setname") && left >= 1) {
      name = call[i + 1];
      i += 2;
    } else {
      return out.error("ERR Syntax error in HELLO option " + quoted(call[i]));
    }
  }
  if (!is_trusted()) {
    return out.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  }
  if (name && !take_name(*name, out)) return;
  version_ = version;
  out.set_version(version);
  out.map(7);
  out.bulk("server");
  out.bulk("headgate");
  out.bulk("version");
  out.bulk(HEADGATE_VERSION);
  out.bulk("proto");
  out.integer(static_cast<std::int64_t>(version));
  out.bulk("id");
  out.integer(static_cast<std::int64_t>(id_));
  out.bulk("mode");
  out.bulk("standalone");
  out.bulk("role");
  out.bulk("master");
  out.bulk("modules");
  out.array(0);
}

// AUTH [user] password
void RespSession::auth(Words call, net::RespWriter& out) {
  if (shows_token(call.size() == 3 ? call[1] : only_user, call.back(), out)) out.simple("OK");
}

// Returns whether user and password are right; if not, writes the error.
bool RespSession::shows_token(std::string_view user, std::string_view password,
                              net::RespWriter& out) {
  const Secrets& secrets = door_.credentials.now();
  if (!secrets.wants_token()) {
    out.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
    return false;
  }
  const Access access = secrets.access_of(password);
  if (access < Access::all || user != only_user) {
    wrong_token_ = true;
    out.error("WRONGPASS invalid username-password pair or user is disabled.");
    return false;
  }
  shown_token_ = secrets.number_of(access);
  return true;
}

bool RespSession::take_name(std::string_view name, net::RespWriter& out) {
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    out.error("ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
  }
  if (name.size() > name_max) {
    out.error("ERR Client names are at most " + std::to_string(name_max) + " bytes long");
    return false;
  }
  name_ = name;
  return true;
}

void RespSession::client(Words call, net::RespWriter& out) {
  const auto is = [&](std::string_view subcommand, std::size_t words) {
    return equal_ignoring_case(call[1], subcommand) && call.size() == words;
  };
  if (is("id", 2)) return out.integer(static_cast<std::int64_t>(id_));
  if (is("getname", 2)) return name_.empty() ? out.null() : out.bulk(name_);
  if (is("setname", 3)) {
    if (take_name(call[2], out)) out.simple("OK");
    return;
  }
  if (is("info", 2)) {
    return out.bulk("id=" + std::to_string(id_) + " name=" + name_ +
                    " resp=" + std::to_string(static_cast<int>(version_)) + "\n");
  }
  // Accepted without effect: client libraries send these when they connect.
  if (is("setinfo", 4) || is("no-evict", 3) || is("no-touch", 3)) return out.simple("OK");
  out.error("ERR unknown subcommand or wrong number of arguments for " + quoted(call[1]) +
            " of CLIENT");
}

void RespSession::reset() {
  version_ = net::RespVersion::resp2;
  shown_token_ = 0;
  name_.clear();
}

}  // namespace headgate::server
