// Envoy's default format of access logs:
//
//   [2016-04-15T20:17:00.310Z] "POST /a?b HTTP/2" 204 - 154 0 226 100 "192.0.2.7" "Browser/1.0"
//   "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "api.example" "10.0.2.1:80"
//
// all in one line: begin, request, status, flags, bytes received and sent, duration and upstream's
// time [ms], X-Forwarded-For, User-Agent, X-Request-Id, host, upstream. The client's address is the
// last one of X-Forwarded-For, which Envoy adds with use_remote_address.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "headgate/sim/log/line_reader.h"

namespace headgate::sim {

class EnvoyReader final : public LineReader {
 public:
  explicit EnvoyReader(std::span<const WantedHeader> wanted);

  [[nodiscard]] std::string_view read(std::string_view line, LogEntry& entry) override;

 private:
  std::vector<std::size_t> places_;  // in LogEntry::headers, of the fields that a line has
};

}  // namespace headgate::sim
