// A policy as the policy file defines it, ready to decide.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/limit/law.h"
#include "headgate/limit/quota.h"
#include "headgate/limit/shared.h"

namespace headgate::policy {

struct EnvoyLimit;

// What one partition is granted: the policy's own numbers, or an override's.
struct Grant {
  limit::Quota quota;
  bool unlimited = false;  // never limited and never reported; the law is not used
  limit::Law law;
  // The limit of Envoy's configuration, or of a request of Envoy's protocol, that this grant was
  // made from; nullptr for all others. Lives as long as the grant.
  const EnvoyLimit* envoy = nullptr;
  bool shadow = false;      // as Mode::shadow, for this grant alone
  bool quota_mode = false;  // denies only if all grants of this kind deny the request
  bool reported = true;     // false: response fields do not report it
  // The name in response fields if it is not the policy's name, else empty. Lives as long as the
  // grant.
  std::string_view title{};
  // As `law`, but a spend also takes what comes within the policy's delay (limit::Terms::waits).
  // nullptr: nothing waits.
  std::shared_ptr<const limit::Law> waiting_law{};
  // Of a policy that machines share; nullptr: this machine alone, or unlimited.
  std::shared_ptr<const limit::Shared> shared{};
};

enum class Mode : std::uint8_t {
  enforce,
  shadow,  // decides and counts, never denies
  off,     // not used at all
};

// When the cost of a request is known.
enum class CostTime : std::uint8_t {
  request,   // before it is decided: Match::cost is what to spend (limit::Op::spend)
  response,  // when its response has ended. The request is decided by a limit::Op::peek of
             // Match::cost, which is 1 (denied where nothing is left), and if it was admitted,
             // PolicySet::late_cost() then says what to charge (limit::Op::debit)
  reserved,  // both: Match::cost is what to spend, and when the response has ended,
             // PolicySet::late_cost() says what it should have been
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
  unsigned estimate_percent = 0;  // the share of settled costs that a reservation covers, 1..99; 0:
                                  // what it takes is not estimated
  std::uint64_t reserve = 1;      // what a reservation takes if nothing else says it [units]
  limit::Sharing sharing = limit::Sharing::none;
  limit::OnOutage on_outage = limit::OnOutage::local;  // of a policy that machines share
  unsigned outage_percent = 100;  // of OnOutage::local: its share of the quota, 1..100
  std::uint32_t delay_waiting =
      1000;  // the most requests that wait at once, see limit::Terms::delay
  // A policy with a candidate is followed by it: the same policy with other numbers.
  bool has_candidate = false;
  std::string candidate_of;      // of a candidate: the policy's name; otherwise empty
  unsigned candidate_share = 0;  // of both, 0..100 [%]: the partitions for which the candidate is
                                 // in force, and the policy's own numbers are not (is_in_share())
  StatusSet refund_on;        // response statuses whose cost is given back, or not charged if late
  std::vector<Grant> grants;  // [0] is the policy's own; the others are overrides

  // For people; decisions use none of it. The texts are those of the policy file, on one line.
  limit::Terms terms;
  std::string key_text = "[address]";
  std::string match_text;  // empty: every request
  std::string path_text;   // how paths are compared; empty: they are not
  std::string cost_text = "1";

  [[nodiscard]] bool is_candidate() const noexcept { return !candidate_of.empty(); }
  // The name that clients are shown: that of the policy whose candidate this is, or its own.
  [[nodiscard]] const std::string& title() const noexcept {
    return is_candidate() ? candidate_of : name;
  }
  // Whether it denies no request: because of its mode, or because its other numbers are in force
  // for all partitions.
  [[nodiscard]] bool in_shadow() const noexcept {
    return mode == Mode::shadow || (is_candidate() && candidate_share == 0) ||
           (has_candidate && candidate_share == 100);
  }
  // The index of the other numbers. REQUIRES: has_candidate or is_candidate().
  [[nodiscard]] std::size_t twin() const noexcept { return is_candidate() ? index - 1 : index + 1; }
  [[nodiscard]] bool is_late() const noexcept { return cost_time == CostTime::response; }
  [[nodiscard]] bool reserves() const noexcept { return cost_time == CostTime::reserved; }
  [[nodiscard]] bool holds_slots() const noexcept {
    return terms.algorithm == limit::Algorithm::concurrency;
  }
  // Whether its own quota is counted per window.
  [[nodiscard]] bool has_window() const noexcept {
    return !grants.front().unlimited && !holds_slots();
  }
  // Whether there may be something to do when the response has ended.
  [[nodiscard]] bool is_settled() const noexcept {
    return cost_time != CostTime::request || holds_slots() || refund_on.any();
  }
};

}  // namespace headgate::policy
