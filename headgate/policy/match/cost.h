// What a request costs.
#pragma once

#include <cstdint>
#include <string>

#include "headgate/policy/policy.h"
#include "headgate/policy/request.h"

namespace headgate::policy {

struct Cost {
  std::uint64_t units = 1;  // 0..limit::Quota::cost_max
  bool defaulted = false;   // nobody said, and 1 was taken
};

// `cost` of a policy.
struct CostRule {
  enum class Source : std::uint8_t {
    fixed,
    request_bytes,
    response_bytes,
    request_header,
    response_header,
  };

  Source source = Source::fixed;
  std::uint64_t units = 1;  // of Source::fixed
  std::string header;       // of the header sources, lower case

  [[nodiscard]] CostTime time() const noexcept {
    return source == Source::response_bytes || source == Source::response_header
               ? CostTime::response
               : CostTime::request;
  }

  // A header must be one line of decimal digits; anything else is defaulted, and so is a body of
  // unknown length. What is beyond cost_max counts as cost_max, which no quota admits.
  //
  // of() is for rules whose time() is the request, of_response() for the others: it is 1 before.
  [[nodiscard]] Cost of(const Request& request) const noexcept;
  [[nodiscard]] Cost of_response(const Response& response) const noexcept;
};

}  // namespace headgate::policy
