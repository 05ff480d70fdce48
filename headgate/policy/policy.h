// A policy as the policy file says it, ready to be asked.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/limit/law.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {

struct EnvoyLimit;

// What one partition is granted: the policy's own numbers, or an override's.
struct Grant {
  limit::Quota quota;
  bool unlimited = false;  // never limited and never reported; the law is not asked
  limit::Law law;
  // Of a domain of Envoy's configuration: the limit that this is; it lives as long as the policy.
  const EnvoyLimit* envoy = nullptr;
  bool shadow = false;  // as Mode::shadow, for this grant alone
};

enum class Mode : std::uint8_t {
  enforce,
  shadow,  // decides and counts, never denies
  off,     // not asked at all
};

// When it is known what a request costs.
enum class CostTime : std::uint8_t {
  request,   // before it is decided: Match::cost is what to spend (limit::Op::spend)
  response,  // when its response has ended. The request is decided by a limit::Op::peek of
             // Match::cost, which is 1 (denied where nothing is left), and if it was admitted,
             // PolicySet::late_cost() then says what to charge (limit::Op::debit)
};

// Response statuses, 100..599.
using StatusSet = std::bitset<600>;

struct Policy {
  std::string name;               // 1..64 printable ASCII characters
  std::size_t index = 0;          // position in the file
  std::string unit = "requests";  // quota unit, as the field's qu names it
  Mode mode = Mode::enforce;
  unsigned status = 429;  // of a denial
  CostTime cost_time = CostTime::request;
  StatusSet refund_on;        // response statuses whose cost is given back, or not charged if late
  std::vector<Grant> grants;  // [0] is the policy's own; the others are overrides

  // For people, who want to see what they asked for; deciding needs none of it. The texts are what
  // the file says, on one line.
  limit::Terms terms;
  std::string key_text = "[address]";
  std::string match_text;  // empty: every request
  std::string cost_text = "1";

  [[nodiscard]] bool is_late() const noexcept { return cost_time == CostTime::response; }
};

}  // namespace headgate::policy
