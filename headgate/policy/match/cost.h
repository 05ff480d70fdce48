// The cost of a request, and the rule by which a policy computes it.
#pragma once

#include <cstdint>
#include <string>

#include "headgate/policy/fields_used.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/request.h"

namespace headgate::policy {

struct Cost {
  std::uint64_t units = 1;  // 0..limit::Quota::cost_max
  bool defaulted = false;   // the source was absent or malformed, and 1 is used instead
};

// The `cost` of a policy.
struct CostRule {
  enum class Source : std::uint8_t {
    fixed,
    request_bytes,
    response_bytes,
    request_header,
    response_header,
    response_json,
    estimate,  // of former costs, which the gate has; `units` as long as there are none
  };

  Source source = Source::fixed;
  std::uint64_t units = 1;  // of Source::fixed and estimate
  std::string header;       // of the header sources, lower case
  std::string path;         // of Source::response_json: names with dots between them

  [[nodiscard]] CostTime time() const noexcept {
    return source == Source::response_bytes || source == Source::response_header ||
                   source == Source::response_json
               ? CostTime::response
               : CostTime::request;
  }

  // Return the cost. A header must have one line of decimal digits; any other header, a body of
  // unknown length, and one without the number, has the default cost 1. A value beyond cost_max
  // counts as cost_max, which no quota admits.
  //
  // of() is for rules whose time() is the request, and returns 1 for the others. of_response() is
  // for rules whose time() is the response.
  [[nodiscard]] Cost of(const Request& request) const noexcept;
  [[nodiscard]] Cost of_response(const Response& response) const noexcept;

  // Adds what the functions above read.
  void add_to(FieldsUsed& fields_used) const;
};

}  // namespace headgate::policy
