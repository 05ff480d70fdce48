// The common log format of web servers and its extension "combined", as Apache and nginx write
// them:
//
//   192.0.2.7 - alice [17/May/2015:10:05:03 +0000] "GET /a?b HTTP/1.1" 200 2326
//   192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 - "http://from/" "Browser/1.0"
//
// In front of either, "vhost_combined" has the host and its port. What else follows is not read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "headgate/sim/log/line_reader.h"
#include "headgate/sim/log/time.h"

namespace headgate::sim {

enum class ClfForm : std::uint8_t { common, combined };

class ClfReader final : public LineReader {
 public:
  ClfReader(ClfForm form, std::span<const WantedHeader> wanted);

  [[nodiscard]] std::string_view read(std::string_view line, LogEntry& entry) override;

 private:
  static constexpr std::size_t unwanted = log_headers_max;

  std::string_view read_client(std::string_view front, LogEntry& entry);
  std::string_view read_rest(std::string_view rest, LogEntry& entry);

  ClfForm form_;
  std::size_t referer_ = unwanted;  // places in LogEntry::headers
  std::size_t user_agent_ = unwanted;
  ClfTime time_;
  std::string request_;  // without its escapes
  std::string referer_text_;
  std::string user_agent_text_;
};

}  // namespace headgate::sim
