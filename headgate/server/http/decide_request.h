// The body of POST /v1/decide:
//
//   {"checks": [{"policy": "burst", "key": "a", "cost": 1}], "op": "spend"}
#pragma once

#include <array>
#include <cstddef>
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
  std::span<const gate::Check> checks;  // at least one; in the reader
};

struct DecideFault {
  unsigned status = 400;  // 422: a cost that is a number, but none that a cost can be
  std::size_t at = 0;     // byte of the body, from 0
  std::string what;       // printable
};

// Reused from request to request, it stops allocating once it has seen the longest strings.
class DecideReader {
 public:
  // Costs: 0..cost_max quota units.
  static constexpr std::uint64_t cost_max = limit::Quota::units_max;

  // The result is valid until the next call. `key` is "" by default; `cost` is 1, of a peek 0; `op`
  // is spend, peek, refund, or release, which says the same of concurrency.
  [[nodiscard]] Result<DecideRequest, DecideFault> read(std::string_view body);

 private:
  class Reading;

  std::string strings_;
  std::array<gate::Check, policy::policies_max> checks_;
  std::array<bool, policy::policies_max> has_cost_;
};

}  // namespace headgate::server
