// All policies of one file, and which of them a request must pass.
//
// Immutable after loading; every method is thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/fields_used.h"
#include "headgate/policy/match/cost.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/policy_change.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// The most policies that one file may hold: what one request may have to pass, at worst.
inline constexpr std::size_t policies_max = 128;

// The domain of rate limit descriptors that stands for the policies of the policy file: the
// descriptor [(policy, NAME), (key, KEY)] in it asks named(NAME, KEY).
inline constexpr std::string_view reserved_domain = "headgate";

// An entry of a descriptor, as Envoy's rate limit protocol has them.
struct DescriptorEntry {
  std::string_view key;
  std::string_view value;
};

struct Descriptor {
  std::span<const DescriptorEntry> entries;
  std::uint64_t cost = 1;
  const Grant* grant = nullptr;  // what the request itself says, instead of the configuration
};

// A policy that applies, with everything that charging it needs. `grant` belongs to the policy;
// `key` and `partition` point into the Scratch that was passed in.
struct Match {
  const Policy* policy = nullptr;
  const Grant* grant = nullptr;
  std::string_view key;         // store key: policy name and partition key parts, length-prefixed
  std::string_view partition;   // the parts as one readable text, for pk=plain, logs and top
  std::uint64_t cost = 1;       // quota units, 0..limit::Quota::cost_max; see Policy::cost_time
  bool cost_defaulted = false;  // the header that should have told the cost was absent or malformed

  // Whether it may deny.
  [[nodiscard]] bool enforced() const noexcept {
    return policy->mode == Mode::enforce && !grant->shadow;
  }
};

// Where matches and their keys are written. Reused from request to request, it stops allocating
// once it has seen the longest keys. Not thread-safe: one per thread or per request in flight.
struct Scratch {
  std::string text;
  std::string host;  // in lower case
  std::array<Match, policies_max> matches;
};

class PolicySet {
 public:
  struct Rules;  // matching, keys and costs: private to this room

  PolicySet(Settings settings, std::unique_ptr<const Rules> rules);
  ~PolicySet();
  PolicySet(const PolicySet&) = delete;
  PolicySet& operator=(const PolicySet&) = delete;

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::span<const Policy> policies() const noexcept;

  // The same policies, with the one of this index changed. The error completes "policy NAME ...".
  [[nodiscard]] Result<std::shared_ptr<const PolicySet>, std::string> with(
      std::size_t policy, const Change& change) const;

  // The same policies, all off but the one of this index.
  [[nodiscard]] std::shared_ptr<const PolicySet> only(std::size_t policy) const;

  // What match() and late_cost() look at. The client's address always is.
  [[nodiscard]] FieldsUsed fields_used() const;

  // Whether a policy's cost is the request's body: doors that learn its length late wait for it.
  [[nodiscard]] bool needs_body_bytes() const noexcept;
  // How long the body of this request can be and matter: a longer one is denied whatever its
  // length is. std::nullopt: nobody asks. Uses `scratch` as match() does.
  [[nodiscard]] std::optional<std::uint64_t> body_bytes_wanted(const Request& request,
                                                               Scratch& scratch) const;

  // The policies that this request must pass, in file order: neither `off` nor unlimited for its
  // partition. No failure: a part or cost that the request lacks has its documented default.
  [[nodiscard]] std::span<const Match> match(const Request& request, Scratch& scratch) const;

  // What the limits of a domain of Envoy's have for each of a request's descriptors, at most
  // policies_max, in their order. One without a limit, or whose limit another one replaces, has a
  // Match without a policy; one that is never limited has its grant.
  [[nodiscard]] std::span<const Match> match(std::string_view domain,
                                             std::span<const Descriptor> descriptors,
                                             Scratch& scratch) const;

  // The policy that has the limits of a domain of Envoy's, or nullptr.
  [[nodiscard]] const Policy* domain(std::string_view name) const noexcept;

  // What a request that `policy` admitted has cost, now that its response has ended. For policies
  // whose cost_time is CostTime::response; 0 where the status is one of refund_on.
  [[nodiscard]] Cost late_cost(const Policy& policy, const Response& response) const noexcept;

  // One policy by name with a ready-made partition key (its single part), as the decision
  // interfaces and traces give it; `match` and `key` of the file are not consulted. std::nullopt
  // if there is no such policy. A match with an unlimited grant or an `off` policy is returned:
  // the caller decides what that means. Addresses and host names are normalised as in a request,
  // so both reach the same key; of several parts, `partition` is their readable text, and any
  // text with another number of parts is a key of its own. The policy of a domain of Envoy's takes
  // a descriptor, "key=value,key=value"; without a limit for it, it is unlimited.
  [[nodiscard]] std::optional<Match> named(std::string_view policy, std::string_view partition,
                                           std::uint64_t cost, std::string& text) const;

 private:
  Settings settings_;
  std::unique_ptr<const Rules> rules_;
};

}  // namespace headgate::policy
