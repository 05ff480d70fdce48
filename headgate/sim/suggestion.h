// The smallest quota that would have left almost everybody alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/sim/log/traffic.h"

namespace headgate::sim {

// A part of a whole, in millionths.
struct Share {
  std::uint32_t millionths = 0;

  // "99.9%": more than 0 and at most 100, with up to four decimals; the sign may be left out.
  [[nodiscard]] static std::optional<Share> parse(std::string_view text);
  [[nodiscard]] bool reached(std::uint64_t part, std::uint64_t all) const noexcept;
  [[nodiscard]] std::string text() const;
};

// What one quota would have done.
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
  // The least quota under which the share of partitions, or of requests, is not denied; absent
  // where none is enough, as for costs above every quota.
  std::optional<Outcome> for_partitions;
  std::optional<Outcome> for_requests;
  std::uint64_t lost = 0;  // keys that found no room, so that some decisions were too generous
};

// Replays the traffic under many quotas, a few times, until the least one is found. The policy is
// looked at as if it were the only one. At one unit less, the share would have been missed.
// `memory` [bytes] is for the state of keys. `progress` is told of passes and requests. The policy
// must be neither off nor by name alone. The error says what went wrong midway.
[[nodiscard]] Result<Suggestion, std::string> suggest(
    const std::shared_ptr<const policy::PolicySet>& policies, std::size_t policy, Share share,
    const Traffic& traffic, std::size_t memory,
    const std::function<void(std::uint64_t requests)>& progress);

// A few lines for people.
[[nodiscard]] std::string suggestion_text(const Suggestion& suggestion, Share share);
// One JSON object, without a line's end.
[[nodiscard]] std::string suggestion_json(const Suggestion& suggestion, Share share);

}  // namespace headgate::sim
