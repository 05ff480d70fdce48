// Suggests the smallest quota that would have denied almost no client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/traffic.h"

namespace headgate::sim {

// A fraction in millionths.
struct Share {
  std::uint32_t millionths = 0;

  // Parses "99.9%": more than 0 and at most 100, with up to four decimals; the percent sign is
  // optional. Returns std::nullopt for other texts.
  [[nodiscard]] static std::optional<Share> parse(std::string_view text);
  [[nodiscard]] bool reached(std::uint64_t part, std::uint64_t all) const noexcept;
  [[nodiscard]] std::string text() const;
};

// The result of one quota.
struct Outcome {
  std::uint64_t quota = 0;
  std::uint64_t partitions = 0;
  std::uint64_t partitions_denied = 0;
  std::uint64_t requests = 0;
  std::uint64_t requests_denied = 0;
};

struct Suggestion {
  const policy::Policy* policy = nullptr;
  Outcome now;  // under the quota that the policy has
  // The smallest quota that denies nothing to the required share of partitions, or of requests.
  // Absent if no quota is enough, as for costs above every quota.
  std::optional<Outcome> for_partitions;
  std::optional<Outcome> for_requests;
  std::uint64_t unkept = 0;  // decisions on keys that found no room; they may be too strict
};

// Replays the traffic several times, each time under several quotas, until the smallest sufficient
// quota is found: one unit less would miss the share. The policy is replayed as if it were the only
// one. `memory` [bytes] is for the state of keys. `progress` gets the passes and requests. The
// policy must be neither off nor reachable by name alone. The error says why a pass failed.
[[nodiscard]] Result<Suggestion, std::string> suggest(
    const std::shared_ptr<const policy::PolicySet>& policies, std::size_t policy, Share share,
    const Traffic& traffic, std::size_t memory,
    const std::function<void(std::uint64_t requests)>& progress);

// A line of text for each of the quotas: for partitions, for requests, and the one that it has.
[[nodiscard]] std::vector<std::string> suggestion_lines(const Suggestion& suggestion, Share share);
// The same for people, with the policy's name above.
[[nodiscard]] std::string suggestion_text(const Suggestion& suggestion, Share share);
// One JSON object, without a final newline.
[[nodiscard]] std::string suggestion_json(const Suggestion& suggestion, Share share);

}  // namespace headgate::sim
