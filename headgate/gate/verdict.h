// The gate's verdict on one request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/policy/policy_set.h"

namespace headgate::gate {

enum class Outcome : std::uint8_t {
  off,            // no policy applied
  admitted,       // every policy that applied admitted
  shadow_denied,  // admitted, but a shadow policy would have denied
  denied,
};

// What the response fields report of one policy. Small, so that a door can keep it until the
// response.
struct Item {
  std::uint16_t policy = 0;     // index in the file
  bool denied = false;          // this policy denied
  std::uint32_t grant = 0;      // index in its grants
  std::uint64_t remaining = 0;  // r
  std::uint64_t reset = 0;      // t [s], or limit::Decision::no_reset
  std::string_view pk;  // partition key as raw bytes, if one is shown; in the DecisionContext
};

// What remains to be done for one policy when the response has ended: to give its cost back, to
// charge or correct a cost that depends on the response, or to release a slot. Small for the same
// reason.
struct Due {
  const policy::Policy* policy = nullptr;
  const policy::Grant* grant = nullptr;  // of this policy
  std::string_view key;                  // store key; in the DecisionContext
  std::uint64_t cost = 0;  // what admit() charged [units]; meaningless if the policy's cost is late
  bool in_outage = false;  // as store::Charge::in_outage
  std::uint64_t remaining = 0;  // what the charge has left [units]
};

struct Verdict {
  Outcome outcome = Outcome::off;
  // The policy that denied with the longest wait; a shadow policy only if no enforced one denied.
  const policy::Policy* denier = nullptr;
  std::optional<std::uint64_t> retry_after;  // [s], with jitter; absent: waiting never helps
  // The enforced policies that denied, in file order; in the DecisionContext.
  std::span<const policy::Policy* const> violated;
  bool is_outage = false;  // of a denial: `denier` denied because the shared store is away
  // If set, the request was denied (in a dry run: would have been), and no policy decided.
  policy::Refusal refusal = policy::Refusal::none;
  bool in_outage = false;  // a policy decided without the store that machines share
  // How long an admitted request has to wait before it passes [ns], though it is charged already;
  // and the policy that makes it wait longest. 0 and nullptr unless the door lets requests wait.
  Nanos hold = 0;
  const policy::Policy* waits_for = nullptr;
  std::optional<std::uint64_t> remaining;  // least r of all enforced policies that know it
  std::span<const Item> items;             // to report, in file order; in the DecisionContext
  std::span<const Due> dues;               // for Gate::settle(); in the DecisionContext

  // The verdict as doors show it: the outcome, after "outage-" if in_outage.
  [[nodiscard]] std::string_view word() const noexcept;
  // HTTP status of the denial.
  [[nodiscard]] unsigned status() const noexcept {
    if (refusal == policy::Refusal::unclear_host) return 400;
    if (is_outage || refusal == policy::Refusal::too_many) return 503;
    return denier == nullptr ? 429 : denier->status;
  }
};

}  // namespace headgate::gate
