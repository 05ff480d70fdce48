// The trace format: one JSON object per line, each a request to named policies at its own time.
//
//   {"t": 1700000000000000000, "policy": "burst", "key": "a", "cost": 1}
//   {"t": 1700000000000000000, "op": "refund", "policy": "burst", "key": "a", "cost": 1}
//   {"t": 1700000000000000000, "policy": ["burst", "daily"], "key": "a", "cost": [1, 20]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/law.h"

namespace headgate::sim {

// The check of one policy.
struct Question {
  std::string policy;
  std::string key;         // ready-made partition key; empty if the line has none
  std::uint64_t cost = 1;  // quota units; 0 for a peek that names no cost
};

struct TraceLine {
  Instant at;  // "t" [ns since the epoch], exact, of any sign and up to time_digits_max digits
  limit::Op op = limit::Op::spend;
  bool releases = false;  // "op" is release: a refund to policies that count requests in flight
  bool several = false;   // "policy" is a list: all or none
  std::vector<Question> questions;
};

// Any time of 30 digits, and its sums with windows, fit in 128 bits (38 digits).
inline constexpr std::size_t time_digits_max = 30;

// The error says what is wrong and what was expected.
[[nodiscard]] Result<TraceLine, std::string> parse_trace_line(std::string_view text);

}  // namespace headgate::sim
