// The body of POST /v1/decide and /v1/reserve:
//
//   {"checks": [{"policy": "burst", "key": "a", "cost": 1}], "op": "spend"}
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/gate/check.h"
#include "headgate/limit/law.h"
#include "headgate/policy/policy_set.h"

namespace headgate::server {

struct DecideRequest {
  limit::Op op = limit::Op::spend;
  std::span<const gate::Check> checks;  // at least one; views of the reader and of the body
};

enum class DecideKind : std::uint8_t {
  decide,
  reserve,  // without `op`; a check without `cost` takes what its policy reserves
};

struct DecideFault {
  unsigned status = 400;  // 422: the cost is a number, but not a possible cost
  std::size_t at = 0;     // byte of the body, from 0
  std::string what;       // printable ASCII
};

// A reader that is reused stops allocating after it has read the longest body.
class DecideReader {
 public:
  // Costs: 0..cost_max quota units.
  static constexpr std::uint64_t cost_max = limit::Quota::units_max;

  // The result is valid until the next call, and as long as `body`. Defaults: `key` "", `cost` 1 (0
  // for a peek), `op` spend. `op` is spend, peek, refund, or release, which means refund.
  [[nodiscard]] Result<DecideRequest, DecideFault> read(std::string_view body,
                                                        DecideKind kind = DecideKind::decide);

 private:
  class Reading;

  std::string strings_;
  std::array<gate::Check, policy::policies_per_request_max> checks_;
  std::array<bool, policy::policies_per_request_max> has_cost_;
};

}  // namespace headgate::server
