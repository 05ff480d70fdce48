// The body of POST /v1/settle:
//
//   {"reservation": "TEXT", "costs": {"tokens": 312}}
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/server/http/decide_request.h"

namespace headgate::server {

// What the units of one policy really are.
struct NamedCost {
  std::string_view policy;
  std::uint64_t cost = 0;  // 0..DecideReader::cost_max
  std::size_t at = 0;      // byte of the body, from 0
};

struct SettleRequest {
  std::string_view reservation;
  std::size_t at = 0;                // of the reservation: byte of the body
  std::span<const NamedCost> costs;  // each policy once; views of the reader and of the body
};

// A reader that is reused stops allocating after it has read the longest body.
class SettleReader {
 public:
  // The result is valid until the next call, and as long as `body`. Without `costs`, there are
  // none.
  [[nodiscard]] Result<SettleRequest, DecideFault> read(std::string_view body);

 private:
  class Reading;

  std::string strings_;
  std::array<NamedCost, policy::policies_per_request_max> costs_;
};

}  // namespace headgate::server
