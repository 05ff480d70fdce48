#include "headgate/server/resp/command.h"

#include <algorithm>
#include <array>
#include <string>

#include "headgate/base/ascii.h"

namespace headgate::server {
namespace {

using Id = RespCommand::Id;

constexpr std::array<RespArgument, 5> throttle_arguments = {{{"key", "key"},
                                                             {"max_burst", "integer"},
                                                             {"count", "integer"},
                                                             {"period", "integer"},
                                                             {"quantity", "integer", true}}};
constexpr std::array<RespArgument, 3> policy_arguments = {
    {{"policy", "string"}, {"key", "key"}, {"cost", "integer", true}}};
constexpr std::array<RespArgument, 3> reserve_arguments = {
    {{"policy", "string"}, {"key", "key"}, {"cost", "integer"}}};
constexpr std::array<RespArgument, 2> settle_arguments = {
    {{"reservation", "string"}, {"cost", "integer"}}};
constexpr std::array<RespArgument, 1> message = {{{"message", "string"}}};
constexpr std::array<RespArgument, 1> maybe_message = {{{"message", "string", true}}};
constexpr std::array<RespArgument, 4> hello_arguments = {{{"protover", "integer", true},
                                                          {"username", "string", true},
                                                          {"password", "string", true},
                                                          {"clientname", "string", true}}};
constexpr std::array<RespArgument, 2> auth_arguments = {
    {{"username", "string", true}, {"password", "string"}}};
constexpr std::array<RespArgument, 1> index = {{{"index", "integer"}}};
constexpr std::array<RespArgument, 1> subcommand = {{{"subcommand", "string"}}};
constexpr std::array<RespArgument, 1> section = {{{"section", "string", true}}};

// The frequent commands come first, because find_command() searches from the beginning.
constexpr std::array<RespCommand, 18> commands = {{
    {Id::cl_throttle, "cl.throttle", -5, 6, 1, true, false,
     "Decides by the limit it names; replies limited, limit, remaining, retry_after, reset_after",
     throttle_arguments},
    {Id::throttle, "throttle", -5, 6, 1, true, false,
     "Decides by the limit it names; replies allowed, limit, remaining, reset_after, retry_after",
     throttle_arguments},
    {Id::hg_decide, "hg.decide", -3, 4, 2, true, false,
     "Spends under a policy; replies admitted, q, r, reset [ms], wait [ms]", policy_arguments},
    {Id::hg_peek, "hg.peek", -3, 4, 2, false, false,
     "Answers as HG.DECIDE would, and spends nothing", policy_arguments},
    {Id::hg_refund, "hg.refund", -3, 4, 2, true, false,
     "Gives units back, or releases a slot of a concurrency policy", policy_arguments},
    {Id::hg_reserve, "hg.reserve", 4, 0, 2, true, false,
     "Spends as HG.DECIDE does; replies the same, and a reservation to settle, or null",
     reserve_arguments},
    {Id::hg_settle, "hg.settle", 3, 0, 0, true, false,
     "Corrects what a reservation took to this cost; replies 1, or 0 if it was settled before",
     settle_arguments},
    {Id::ping, "ping", -1, 2, 0, false, false, "Replies PONG, or the message", maybe_message},
    {Id::echo, "echo", 2, 0, 0, false, false, "Replies the message", message},
    {Id::hello, "hello", -1, 0, 0, false, true, "Chooses RESP2 or RESP3", hello_arguments},
    {Id::auth, "auth", -2, 3, 0, false, true, "Shows the token", auth_arguments},
    {Id::select, "select", 2, 0, 0, false, false, "Takes 0, the only database", index},
    {Id::client, "client", -2, 0, 0, false, false, "Tells about this connection", subcommand},
    {Id::command, "command", -1, 0, 0, false, false, "Tells about commands", {}, true},
    {Id::config, "config", -2, 0, 0, false, false, "GET tells what Redis clients ask for",
     subcommand},
    {Id::info, "info", -1, 0, 0, false, false, "Tells about the server", section, true},
    {Id::quit, "quit", -1, 0, 0, false, true, "Closes the connection", {}},
    {Id::reset, "reset", 1, 0, 0, false, true, "Forgets what this connection has set", {}},
}};

// Writes what COMMAND INFO of Redis 7 replies.
void write_info(const RespCommand& command, net::RespWriter& out) {
  out.array(10);
  out.bulk(command.name);
  out.integer(command.arity);
  out.set(command.changes ? 2 : 1);
  out.simple("fast");
  if (command.changes) out.simple("write");
  out.integer(command.key);
  out.integer(command.key);
  out.integer(command.key > 0 ? 1 : 0);
  for (int i = 0; i < 4; ++i) {
    out.array(0);  // ACL categories, tips, key specifications, subcommands
  }
}

void write_docs(const RespCommand& command, net::RespWriter& out) {
  out.bulk(command.name);
  out.map(command.arguments.empty() ? 3 : 4);
  out.bulk("summary");
  out.bulk(command.summary);
  out.bulk("since");
  out.bulk(HEADGATE_VERSION);
  out.bulk("group");
  out.bulk(command.key > 0 ? "rate-limit" : "connection");
  if (command.arguments.empty()) return;
  out.bulk("arguments");
  out.array(command.arguments.size());
  for (const RespArgument& argument : command.arguments) {
    out.map(argument.optional ? 3 : 2);
    out.bulk("name");
    out.bulk(argument.name);
    out.bulk("type");
    out.bulk(argument.type);
    if (!argument.optional) continue;
    out.bulk("flags");
    out.array(1);
    out.simple("optional");
  }
}

using Words = std::span<const std::string_view>;

void answer_info(Words names, net::RespWriter& out) {
  if (names.empty()) {
    out.array(commands.size());
    for (const RespCommand& command : commands) write_info(command, out);
    return;
  }
  out.array(names.size());
  for (const std::string_view name : names) {
    const RespCommand* command = find_command(name);
    command != nullptr ? write_info(*command, out) : out.null();
  }
}

void answer_docs(Words names, net::RespWriter& out) {
  if (names.empty()) {
    out.map(commands.size());
    for (const RespCommand& command : commands) write_docs(command, out);
    return;
  }
  const auto known = [](std::string_view name) { return find_command(name) != nullptr; };
  out.map(static_cast<std::size_t>(std::count_if(names.begin(), names.end(), known)));
  for (const std::string_view name : names) {
    if (const RespCommand* command = find_command(name)) write_docs(*command, out);
  }
}

}  // namespace

const RespCommand* find_command(std::string_view name) noexcept {
  for (const RespCommand& command : commands) {
    if (equal_ignoring_case(command.name, name)) return &command;
  }
  return nullptr;
}

void answer_command(Words call, net::RespWriter& out) {
  if (call.size() == 1) return answer_info({}, out);
  const Words names = call.subspan(2);
  if (equal_ignoring_case(call[1], "info")) return answer_info(names, out);
  if (equal_ignoring_case(call[1], "docs")) return answer_docs(names, out);
  if (equal_ignoring_case(call[1], "count")) return out.integer(commands.size());
  if (equal_ignoring_case(call[1], "list")) {
    out.array(commands.size());
    for (const RespCommand& command : commands) out.bulk(command.name);
    return;
  }
  constexpr std::size_t shown_max = 64;  // longer than every subcommand
  out.error("ERR unknown subcommand '" + std::string(call[1].substr(0, shown_max)) +
            "' of COMMAND");
}

}  // namespace headgate::server
