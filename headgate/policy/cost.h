// What a request costs.
#pragma once

#include <cstdint>
#include <string>

#include "headgate/policy/request.h"

namespace headgate::policy {

struct Cost {
  std::uint64_t units = 1;  // 0..limit::Quota::cost_max
  bool defaulted = false;   // the request did not say, and 1 was taken
};

// `cost` of a policy.
struct CostRule {
  enum class Source : std::uint8_t { fixed, request_bytes, request_header };

  Source source = Source::fixed;
  std::uint64_t units = 1;  // of Source::fixed
  std::string header;       // of Source::request_header, lower case

  // A header must be one line of decimal digits; anything else is defaulted, and so is a body of
  // unknown length. What is beyond cost_max counts as cost_max, which no quota admits.
  [[nodiscard]] Cost of(const Request& request) const noexcept;
};

}  // namespace headgate::policy
