// The server's log: one line per event, on std::cerr.
#pragma once

#include <cstdint>

namespace headgate::server {

enum class LogFormat : std::uint8_t {
  text,  // 2026-01-31T12:00:00.000Z info  http on 127.0.0.1:8081
  json,  // {"time":"2026-01-31T12:00:00.000Z","level":"info","message":"http on 127.0.0.1:8081"}
};

// Called once, before the first line is logged.
void start_log(LogFormat format);

}  // namespace headgate::server
