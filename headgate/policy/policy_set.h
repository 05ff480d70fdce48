// All policies of one policy file. match() returns those that a request must pass.
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
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/fields_used.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/match/cost.h"
#include "headgate/policy/match/folded_headers.h"
#include "headgate/policy/match/rule_index.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/policy_change.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// The most policies in one file and the files that it includes: more than the routes of a large
// gateway. They load in less than a second.
inline constexpr std::size_t policies_max = 10'000;

// The most policies that one request may have to pass. This bounds the work and the memory per
// request. 128 is far more than services use.
inline constexpr std::size_t policies_per_request_max = 128;

// The domain that reaches the policies of the policy file by Envoy's rate limit protocol: its
// descriptor [(policy, NAME), (key, KEY)] stands for named(NAME, KEY).
inline constexpr std::string_view reserved_domain = "headgate";

// An entry of a descriptor in Envoy's rate limit protocol.
struct DescriptorEntry {
  std::string_view key;
  std::string_view value;
};

struct Descriptor {
  std::span<const DescriptorEntry> entries;
  std::uint64_t cost = 1;
  const Grant* grant = nullptr;  // a limit that the request brings, used instead of the configured
                                 // one; nullptr: it brings none
};

struct LiveOverride;  // live/override.h
struct Overridden;

// A policy that applies to a request, with everything that a charge needs. `grant` belongs to the
// policy; `key` and `partition` point into the Scratch that the caller passed.
struct Match {
  const Policy* policy = nullptr;
  const Grant* grant = nullptr;
  std::string_view key;         // store key: own_key, or that and what sets it apart
  std::string_view own_key;     // policy name and partition key parts, length-prefixed
  std::string_view partition;   // the key parts as one readable text, for pk=plain, logs and top
  std::uint64_t cost = 1;       // quota units, 0..limit::Quota::cost_max; see Policy::cost_time
  bool cost_defaulted = false;  // the header that gives the cost was absent or malformed
  bool shadow = false;          // for this partition, the policy's other numbers are in force

  // Whether a denial is enforced: neither the policy, nor the grant, nor the match is in shadow
  // mode.
  [[nodiscard]] bool enforced() const noexcept {
    return policy->mode == Mode::enforce && !grant->shadow && !shadow;
  }
};

// Why a request is to be denied without a decision of its policies. Without this, a spelling could
// escape some of them.
enum class Refusal : std::uint8_t {
  none,
  unclear_host,  // upstreams may read any host in it, and a policy in force asks for a host
  too_many,      // it would have to pass more than policies_per_request_max
};

// Where a match lies in Scratch::text: offsets, because views would dangle while the text grows.
struct Extent {
  std::size_t key = 0;  // begin of the store key
  std::size_t partition = 0;
  std::size_t partition_size = 0;
  std::size_t own_key_end = 0;
  std::size_t key_end = 0;
};

// Working memory for matches and their keys. Reuse it for the next request: it allocates only while
// keys grow longer, or matches become more, than ever before. Not thread-safe: use one per thread
// or per request in flight.
struct Scratch {
  std::string text;
  std::string host;  // in lower case
  std::string path;  // folded
  FoldedHeaders headers;
  FoundRules found;
  std::vector<Match> matches;
  std::vector<Extent> extents;      // of `matches`
  Refusal refusal = Refusal::none;  // of the last request
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
  // Returns the policy of this name, or nullptr.
  [[nodiscard]] const Policy* find(std::string_view name) const noexcept;
  // Whether any policy has a candidate.
  [[nodiscard]] bool has_candidates() const noexcept;
  // The names of policies(), in the same order.
  [[nodiscard]] std::vector<std::string> names() const;
  // What the files contain without effect, for people.
  [[nodiscard]] std::span<const Fault> warnings() const noexcept;

  // Returns a copy in which the policy of this index is changed. The error completes the sentence
  // "policy NAME ...".
  [[nodiscard]] Result<std::shared_ptr<const PolicySet>, std::string> with(
      std::size_t policy, const Change& change) const;

  // Returns a copy with these overrides, which take the place of those that the policy file has for
  // the same keys; of two for the same key, the later one. Those that do not fit the policies are
  // left out. Throws std::bad_alloc.
  [[nodiscard]] Overridden with(std::span<const LiveOverride> overrides) const;
  // Returns why this override would be left out, as a sentence, or "".
  [[nodiscard]] std::string fault_of(const LiveOverride& override) const;

  // Returns a copy in which the policies that `newer` has, too, and counts on the same states, have
  // the quotas, overrides and terms that they have there: for requests that came before a reload.
  // Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const PolicySet> with_numbers_of(const PolicySet& newer) const;

  // Returns a copy in which every policy but the one of this index is off. It is then in force for
  // all partitions, also if it is a candidate or has one.
  [[nodiscard]] std::shared_ptr<const PolicySet> only(std::size_t policy) const;

  // Returns the parts of requests and responses that match() and late_cost() read, in addition to
  // the peer's address, which match() may always read.
  [[nodiscard]] FieldsUsed fields_used() const;

  // Returns whether the cost of any policy is the length of the request's body. Doors that receive
  // the length late then delay the decision until they have it.
  [[nodiscard]] bool needs_body_bytes() const noexcept;
  // Returns the largest length of this request's body that may be admitted [bytes]: a longer body
  // is denied, whatever its length. Returns std::nullopt if no policy of this request uses the
  // length. Writes to `scratch` as match() does.
  [[nodiscard]] std::optional<std::uint64_t> body_bytes_wanted(const Request& request,
                                                               Scratch& scratch) const;

  // Returns the policies that this request must pass, those in force and then those in shadow mode,
  // both in file order, without those that are `off` or unlimited for its partition; a policy's
  // candidate is one more. At most
  // policies_per_request_max: further ones in shadow mode are left out. Returns none, and sets
  // scratch.refusal, if the request is to be denied whatever its policies would decide. Never
  // fails: a part or cost that the request lacks has its documented default. The result is valid
  // until `scratch` is used again.
  [[nodiscard]] std::span<const Match> match(const Request& request, Scratch& scratch) const;

  // Returns one Match for each descriptor of a request to this domain of Envoy's configuration, in
  // the same order. At most policies_per_request_max descriptors. The Match has no policy if the
  // descriptor has no limit, or if another descriptor's limit replaces its limit. An unlimited one
  // has its grant.
  [[nodiscard]] std::span<const Match> match(std::string_view domain,
                                             std::span<const Descriptor> descriptors,
                                             Scratch& scratch) const;

  // Returns the policy that holds the limits of this domain of Envoy's configuration, or nullptr.
  [[nodiscard]] const Policy* domain(std::string_view name) const noexcept;

  // Returns the cost of a request that `policy` admitted and whose response has ended. For policies
  // whose cost_time is not CostTime::request. The cost is 0 if refund_on contains the status. If it
  // is defaulted, a reservation stays as it is.
  [[nodiscard]] Cost late_cost(const Policy& policy, const Response& response) const noexcept;

  // Returns the member of the response's JSON with the cost of `policy`: a path as of
  // Response::numbers. Empty: none.
  [[nodiscard]] std::string_view response_member(const Policy& policy) const noexcept;

  // Returns the match of the policy with this name and a ready-made partition key, as the decision
  // interfaces and traces give them. The policy's `match` and `key` are not evaluated. Returns
  // std::nullopt if there is no such policy. The match may have an unlimited grant or an `off`
  // policy: the caller decides what that means.
  //
  // `partition` is the key's single part, or the readable text of its parts. Addresses and host
  // names are normalised as in a request, so that both ways reach the same key. A text with another
  // number of parts is a key of its own. For a domain of Envoy's configuration, `partition` is a
  // descriptor, "key=value,key=value"; it is unlimited if no limit applies to it.
  //
  // Of a policy with a candidate, the match is that of the numbers in force for the partition. The
  // candidate's own name stands for the candidate, which is in shadow mode where it is not in
  // force.
  //
  // The views of the match point into `text`.
  [[nodiscard]] std::optional<Match> named(std::string_view policy, std::string_view partition,
                                           std::uint64_t cost, std::string& text) const;

  // Returns the matches of the other states of this partition, at most `most`: its own, if that is
  // another one, and those on which requests are counted under other grants of its policy. Their
  // views point into `text`.
  [[nodiscard]] std::vector<Match> apart(const Match& match, std::size_t most,
                                         std::string& text) const;

  // Returns the grant under which a store key's own state is, as a policy of this name counts it:
  // one of these policies, or of others before or after them. nullptr: these count nothing on that
  // state.
  [[nodiscard]] const Grant* own_grant(const Policy& of, std::string_view key) const noexcept;

  // Returns the match that named() with the same arguments leaves out, in shadow mode: the one of
  // the numbers that are not in force. Returns std::nullopt if the policy has no candidate.
  [[nodiscard]] std::optional<Match> beside(std::string_view policy, std::string_view partition,
                                            std::uint64_t cost, std::string& text) const;

 private:
  [[nodiscard]] Match named(const Policy& policy, std::string_view partition, std::uint64_t cost,
                            std::string& text) const;

  Settings settings_;
  std::unique_ptr<const Rules> rules_;
  bool asks_for_host_;  // a policy in force has a condition on the host
};

}  // namespace headgate::policy
