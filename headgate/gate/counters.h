// Counts of policies and of requests, kept across reloads of the policy file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/gate/counts.h"

namespace headgate::gate {

// The counts of the policies in force. After a reload that changes the policies, requests under the
// previous policies may still be in progress. Therefore each list of policies has a generation of
// counts, and totals() sums all generations for a name. A reload with the same list keeps its
// generation.
//
// open() is for one thread of the process that forks others; the rest is thread-safe.
class Counters {
 public:
  // Counts for policies of these names, in memory shared with child processes. `previous` may be
  // null; it does not change, because the reload may still be refused. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<Counters> open(std::vector<std::string> names,
                                                      const std::shared_ptr<Counters>& previous);

  // The shards for Gate: one per processor, each in the order of the names and with one more
  // element for requests.
  [[nodiscard]] std::span<PolicyCounts> shards() const noexcept;

  [[nodiscard]] PolicyTotals totals(std::string_view name) const noexcept;
  // Requests to which a policy applied, by verdict.
  [[nodiscard]] PolicyTotals requests() const noexcept;

 private:
  struct Generation;
  // Older generations are added to the newest. After 16 reloads that change policies, requests of
  // the first are expected to have ended; and totals() stays short.
  static constexpr std::size_t generations_max = 16;

  std::vector<std::shared_ptr<Generation>> generations_;  // newest first, at least one
};

}  // namespace headgate::gate
