// One line of an access log, as far as policies may ask for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/policy/address/address.h"

namespace headgate::sim {

// A text that a line need not have. The views of an entry are good until the next line is read.
using Text = std::optional<std::string_view>;

// The most header fields, of requests and of responses together, that policies can look at in a
// log; and what the reader of a line finds for each.
inline constexpr std::size_t log_headers_max = 64;

struct LogEntry {
  std::int64_t at = 0;    // when the line was written [ns since 1970]
  std::int64_t took = 0;  // how long the request had taken by then [ns]; 0 also if nobody says
  std::optional<policy::Address> peer;  // std::nullopt: a Unix socket
  std::string_view method;
  std::string_view target;  // as in the request line
  Text query;               // where it stands apart from the target
  std::string_view host;    // without port; empty if nobody says
  unsigned status = 0;
  std::uint64_t response_bytes = 0;
  std::optional<std::uint64_t> request_bytes;
  // The values of the fields that were asked for, in their order.
  std::array<Text, log_headers_max> headers;
};

}  // namespace headgate::sim
