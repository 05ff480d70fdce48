// Reads the lines of one format of access logs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/policy/fields_used.h"
#include "headgate/sim/log/entry.h"

namespace headgate::sim {

// A header field that policies use, in the order of LogEntry::headers.
struct WantedHeader {
  std::string name;  // in lower case
  bool of_response = false;
};

// The header fields of `fields_used`, at most log_headers_max.
[[nodiscard]] std::vector<WantedHeader> wanted_headers(const policy::FieldsUsed& fields_used);

// Not thread-safe: keeps buffers from line to line, and allocates only to enlarge them.
class LineReader {
 public:
  virtual ~LineReader() = default;

  // Fills `entry` and returns "", or returns what is wrong with the line and what was expected (a
  // text with static lifetime). `line` may be any bytes; `entry` may keep views of it.
  [[nodiscard]] virtual std::string_view read(std::string_view line, LogEntry& entry) = 0;
};

}  // namespace headgate::sim
