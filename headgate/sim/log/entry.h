// One line of an access log: the parts that policies can use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/policy/address/address.h"

namespace headgate::sim {

// A text that may be absent. The views of an entry are valid until the next line is read.
using Text = std::optional<std::string_view>;

// The most header fields, of requests and of responses together, that policies can use in a log.
inline constexpr std::size_t log_headers_max = 64;

struct LogEntry {
  std::int64_t at = 0;                  // when the line was written [ns since 1970]
  std::int64_t took = 0;                // duration of the request until then [ns]; 0 if unknown
  std::optional<policy::Address> peer;  // std::nullopt: a Unix socket
  std::string_view method;
  std::string_view target;  // as in the request line
  Text query;               // if the log has it apart from the target
  std::string_view host;    // without port; empty if unknown
  unsigned status = 0;
  std::uint64_t response_bytes = 0;
  std::optional<std::uint64_t> request_bytes;
  // The values of the requested fields, in their order.
  std::array<Text, log_headers_max> headers;
};

}  // namespace headgate::sim
