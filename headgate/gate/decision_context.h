// The result and the working memory of one request's decision.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgate/gate/check.h"
#include "headgate/gate/reservation.h"
#include "headgate/gate/verdict.h"
#include "headgate/store/store.h"

namespace headgate::gate {

static_assert(policy::policies_per_request_max <= store::Bundle::charges_max);

class Gate;

// Whether a request may wait for units that come within a policy's delay.
enum class Waits : std::uint8_t {
  no,         // it is denied
  here,       // at this door, which lets it pass and answers after that, and calls Gate::end_wait()
  elsewhere,  // at the caller, who is told how long
};

// The decision of one policy on the request.
struct PolicyDecision {
  const policy::Match& match;
  const limit::Decision& decision;
  bool enforced;  // false: it decided in shadow mode
  bool taken;     // see DecisionContext::taken()
};

// Holds the result of Gate::admit() or Gate::decide() until its next use. Reuse it from request to
// request: it takes about 3 KiB, and half a KiB more for each policy by which the most that have
// applied to one request exceed four. A door with a store that completes at once needs one per
// thread; with another store, one for each request that waits for its decision. Not thread-safe.
class DecisionContext {
 public:
  // Throws std::bad_alloc.
  DecisionContext() { make_room(policies_at_first); }

  Waits waits = Waits::no;  // in; of all decisions until it is changed
  Verdict verdict;
  std::span<const CheckResult> results;  // of decide(), in the order of its checks
  Instant now;                    // the moment of the decision; meaningless if no policy applied
  Settled settled = Settled::no;  // of settle() of a reservation

  // What was decided: of several operations on descriptors spend if there is one.
  [[nodiscard]] limit::Op op() const noexcept { return op_; }

  // How many policies decided, and what the i-th of them decided: first the enforced ones, then
  // those in shadow mode.
  [[nodiscard]] std::size_t decided() const noexcept { return matched_; }
  [[nodiscard]] PolicyDecision decision(std::size_t i) const noexcept {
    return {match(i), decisions_[i], is_enforced(i), taken(i)};
  }

  // Whether a spend took its cost from the i-th policy: it admitted, and no enforced policy denied
  // the bundle that it belongs to. Descriptors are stored one by one but counted by the same rule:
  // a denied request counts as a denial only.
  [[nodiscard]] bool taken(std::size_t i) const noexcept {
    return decisions_[i].admitted && (!is_enforced(i) || verdict.outcome != Outcome::denied);
  }

  // The gate that decided.
  [[nodiscard]] const Gate& gate() const noexcept { return *gate_; }

  // Memory for matching policies. Free for other use until a request is decided.
  [[nodiscard]] policy::Scratch& scratch() noexcept { return scratch_; }

 private:
  friend class Gate;

  // Whether the i-th policy denied because the shared store is away, and not because of its quota.
  [[nodiscard]] bool denied_by_outage(std::size_t i) const noexcept {
    return outages_.test(i) && !decisions_[i].admitted &&
           match(i).policy->on_outage == limit::OnOutage::deny;
  }
  // Whether the i-th decision promises nothing.
  [[nodiscard]] bool is_hidden(std::size_t i) const noexcept {
    return outages_.test(i) || undecided_.test(i);
  }
  // Whether this machine counted the i-th charge alone, because the shared store is away.
  [[nodiscard]] bool counted_alone(std::size_t i) const noexcept {
    return outages_.test(i) && !undecided_.test(i) &&
           match(i).policy->on_outage == limit::OnOutage::local;
  }
  [[nodiscard]] bool is_enforced(std::size_t i) const noexcept { return i < enforced_; }
  [[nodiscard]] const policy::Match& match(std::size_t i) const noexcept {
    return scratch_.matches[match_of_[i]];
  }

  // More than apply to most requests. With room for policies_per_request_max, a thousand decisions
  // that wait would take 60 MiB, and each would find none of its memory in the processor's caches:
  // 7.7 instead of 5.2 us of headgate's time (bench/compare/redis.py, through RESP).
  static constexpr std::size_t policies_at_first = 4;

  // Before the first charge: makes room for so many policies, checks or descriptors. Throws
  // std::bad_alloc.
  void make_room(std::size_t policies);

  policy::Scratch scratch_;
  limit::Op op_ = limit::Op::spend;
  std::size_t matched_ = 0;   // charges
  std::size_t enforced_ = 0;  // charges [0, enforced_) are one bundle; each other one is alone
  std::size_t bundle_count_ = 0;
  std::size_t asked_ = 0;        // checks, or descriptors
  std::size_t denying_end_ = 0;  // of descriptors: charges [0, denying_end_) always deny,
  std::size_t quota_end_ = 0;    // and those from there to quota_end_ are in quota mode

  std::bitset<policy::policies_per_request_max>
      outages_;  // charges decided without the shared store
  // Charges that were not decided, because another one of the bundle is known to be denied or
  // memory is short.
  std::bitset<policy::policies_per_request_max> undecided_;
  // Of one size, by make_room(). What points at their elements lasts until the next decision.
  std::vector<std::uint8_t> match_of_;  // charge -> match
  std::vector<store::Charge> charges_;
  std::vector<limit::Decision> decisions_;
  std::vector<store::Bundle> bundles_;
  std::vector<Item> items_;
  std::vector<Due> dues_;
  std::vector<const policy::Policy*> violated_;
  std::vector<std::array<char, 16>> opaque_pks_;
  std::vector<std::string> names_;  // store keys of checks
  std::vector<CheckResult> results_;
  std::vector<std::uint8_t> check_of_;  // match -> check

  // Of a reservation that is settled: the charge that passes once.
  store::Charge mark_;
  limit::Decision marked_;
  bool patient_ = false;  // as Gate::settle() takes it

  std::unique_ptr<const limit::Law> full_law_;  // of Gate::inspect()

  const Gate* gate_ = nullptr;
  // Of a request that was denied, and may wait: the policy that denied with the longest wait.
  const policy::Policy* waits_for_ = nullptr;
  std::optional<Instant> given_;   // the caller's moment
  bool reserves_ = false;          // every charge leaves a due
  std::optional<Instant> moment_;  // as the caller gave it, then as the store decided
  store::Completion done_;
};

}  // namespace headgate::gate
