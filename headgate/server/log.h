// The server's log: one line per event, on std::cerr.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::server {

enum class LogFormat : std::uint8_t {
  text,  // 2026-01-31T12:00:00.000Z info  http on 127.0.0.1:8081
  json,  // {"time":"2026-01-31T12:00:00.000Z","level":"info","message":"http on 127.0.0.1:8081"}
};

// Called once, before the first line is logged.
void start_log(LogFormat format);

// A line of that log, with its end: for what can't be logged because the log itself fails.
std::string warning_line(LogFormat format, std::string_view words);

}  // namespace headgate::server
