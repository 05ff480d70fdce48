// HAProxy's `option httplog`, with or without what syslog writes before it:
//
//   192.0.2.7:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ----
//   1/1/1/1/0 0/0 {api.example} {} "GET /a?b HTTP/1.1"
//
// all in one line: client, begin by the clock of the machine, frontend, server, times [ms] of which
// the last is the whole, status, bytes sent, and captured headers, which are not read. '"', '#' and
// bytes that cannot be printed are '#' and two hexadecimal digits in the request.
#pragma once

#include <string>
#include <string_view>

#include "headgate/sim/log/line_reader.h"
#include "headgate/sim/log/time.h"

namespace headgate::sim {

// The date has no time zone, and is read as UTC.
class HaproxyReader final : public LineReader {
 public:
  [[nodiscard]] std::string_view read(std::string_view line, LogEntry& entry) override;

 private:
  std::string_view read_rest(std::string_view rest, LogEntry& entry);

  ClfTime time_;
  std::string request_;  // without its escapes
};

}  // namespace headgate::sim
