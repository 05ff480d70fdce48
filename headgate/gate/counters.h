// Counts of policies that a reload of the policy file passes on.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/gate/counts.h"

namespace headgate::gate {

// The counts of the policies in force. After a reload that changed the policies those before it may
// still be finishing requests, so counts come in generations, and totals() adds up what every
// generation counted under a name. A reload with the same policies goes on with its own.
//
// open() belongs to one thread, of the process that forks others; the rest is thread-safe.
class Counters {
 public:
  // For policies of these names, in memory shared with child processes. `previous` may be null; it
  // is left as it is, for the reload may yet be refused. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<Counters> open(std::vector<std::string> names,
                                                      const std::shared_ptr<Counters>& previous);

  // Shards as Gate takes them, one a processor, each in the order of the names.
  [[nodiscard]] std::span<PolicyCounts> shards() const noexcept;

  [[nodiscard]] PolicyTotals totals(std::string_view name) const noexcept;

 private:
  struct Generation;
  static constexpr std::size_t generations_max = 16;  // older ones are folded into the newest

  std::vector<std::shared_ptr<Generation>> generations_;  // newest first, at least one
};

}  // namespace headgate::gate
