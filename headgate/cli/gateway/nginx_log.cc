#include "headgate/cli/gateway/nginx_log.h"

#include <charconv>
#include <optional>

namespace headgate::cli {
namespace {

// The text between `before` and `after`, or from `before` on if `after` is empty.
std::optional<std::string> between(std::string_view text, std::string_view before,
                                   std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + before.size());
  const std::size_t end = after.empty() ? text.size() : text.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, end));
}

// "1022001" is 1.22.1.
std::string version(const std::string& number) {
  if (number.size() != 7) return number;
  const auto part = [&](std::size_t at) { return std::to_string(std::stoi(number.substr(at, 3))); };
  return number.substr(0, 1) + '.' + part(1) + '.' + part(4);
}

// What is behind "*CONNECTION ", if that is in front of the message.
std::string_view text_of(std::string_view message) {
  return message.starts_with('*') ? message.substr(message.find(' ') + 1) : message;
}

// Without the position in nginx.conf, which does not help users: they did not write it.
std::string_view without_position(std::string_view message) {
  const std::size_t where = message.rfind(" in /");
  const bool has_one = where != std::string_view::npos &&
                       message.find("/nginx.conf:", where) != std::string_view::npos;
  return has_one ? message.substr(0, where) : message;
}

std::string plain(std::string_view message, std::string_view policy_file) {
  message = without_position(message);
  if (const std::size_t at = message.find(policy_file);
      !policy_file.empty() && at != std::string_view::npos &&
      message.substr(at + policy_file.size()).starts_with(":")) {
    return std::string(message.substr(at));
  }
  if (const auto host = between(message, "host not found in upstream \"", "\"")) {
    return "the upstream's host in \"" + *host + "\" was not found";
  }
  if (const auto module = between(message, "module \"", "\" version ")) {
    const auto built = between(message, "\" version ", " instead of ");
    const auto wanted = between(message, " instead of ", "");
    return "the module " + *module + " was built for nginx " + version(built.value_or("?")) +
           ", and the nginx installed here is " + version(wanted.value_or("?")) +
           "; build it again with ./dev build";
  }
  if (const auto module = between(message, "module \"", "\" is not binary compatible")) {
    return "the module " + *module +
           " was built for an nginx with other options than the one installed here; build it "
           "again with ./dev build";
  }
  if (const auto module = between(message, "dlopen() \"", "\" failed")) {
    const auto why = between(message, "failed (", ")");
    return "the module " + *module + " can't be loaded: " + why.value_or("unknown reason");
  }
  return "nginx: " + std::string(message);
}

}  // namespace

NginxLog read_nginx_log(std::string_view line, std::string_view policy_file) {
  NginxLog log;
  const std::size_t open = line.find('[');
  const std::size_t close = line.find("] ");
  if (open == std::string_view::npos || close == std::string_view::npos || open > close) {
    log.words = line;
    return log;
  }
  const std::string_view level = line.substr(open + 1, close - open - 1);
  std::string_view message = line.substr(close + 2);
  // "PID#TID: " in front of the message.
  std::from_chars(message.data(), message.data() + message.size(), log.writer);
  const std::size_t ids = message.find_first_not_of("0123456789#");
  if (ids > 0 && message.substr(ids).starts_with(": ")) message.remove_prefix(ids + 2);

  constexpr std::string_view start = "start worker process ";
  // "... exited with code 0", "... exited on signal N"
  constexpr std::string_view exit = "worker process ";
  const auto read_worker = [&](NginxLog::Event event, std::string_view words) {
    log.event = event;
    const char* const number = message.data() + words.size();
    std::from_chars(number, message.data() + message.size(), log.worker);
  };
  if (level == "notice" || level == "info" || level == "debug") {
    log.quiet = true;
    if (message == "start worker processes") {
      log.event = NginxLog::Event::started;
    } else if (message.starts_with(start)) {
      read_worker(NginxLog::Event::worker_start, start);
    } else if (message.starts_with(exit)) {
      read_worker(NginxLog::Event::worker_leave, exit);
    } else if (message == "gracefully shutting down") {
      log.event = NginxLog::Event::worker_leave;
      log.worker = log.writer;
    } else if (message == "reopening logs") {
      log.event = NginxLog::Event::reopened;
    } else if (text_of(message).starts_with("headgate: ")) {  // what people have changed
      log.quiet = false;
      log.words = line;
    }
    return log;
  }
  if (const std::string_view bare = without_position(message);
      level == "warn" && bare.size() < message.size()) {
    log.event = NginxLog::Event::warned;
    log.words = bare;
    return log;
  }
  if (level != "emerg") {
    log.words = line;  // nginx is running: keep the time
    // Then it may have words of a client.
    const bool is_of_request = message.starts_with('*');
    if (!is_of_request &&
        message.find(" failed while spawning \"worker process\"") != std::string_view::npos) {
      log.event = NginxLog::Event::no_worker;
    } else if (message.starts_with(exit)) {
      read_worker(message.ends_with(" and cannot be respawned") ? NginxLog::Event::no_worker
                                                                : NginxLog::Event::worker_leave,
                  exit);
    }
    return log;
  }
  log.event = NginxLog::Event::refused;
  log.words = plain(message, policy_file);
  return log;
}

}  // namespace headgate::cli
