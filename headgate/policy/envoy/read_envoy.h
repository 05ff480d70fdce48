// Reads the configuration of envoyproxy/ratelimit, in its own format.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/limit/quota.h"
#include "headgate/policy/envoy/domain.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

// Returns the terms by which envoyproxy/ratelimit counts: windows aligned to the epoch, in which
// denied hits count.
[[nodiscard]] limit::Terms envoy_terms() noexcept;

// Reads the terms of a configuration from the policy file: `algorithm`, `denied`, `reset` and so on
// in the entry that names the configuration's file. Absent ones are those of envoy_terms().
[[nodiscard]] limit::Terms read_envoy_terms(const MapReader& map, Faults& faults);

// Returns the grant of a limit, or std::nullopt if its numbers are beyond exact arithmetic. The
// grant points to `limit`.
[[nodiscard]] std::optional<Grant> envoy_grant(const EnvoyLimit& limit, const limit::Terms& terms);

// Collects the domains of any number of files, one per file.
class EnvoyReader {
 public:
  // Reads a domain and its descriptors. Of a file with a fault, a part may have been added.
  void read(std::string_view yaml, const limit::Terms& terms, Faults& faults);

  // Adds every domain as a policy with the domain's name that only descriptors reach. Adds faults
  // at `at` for names that are in use, and for more than policies_max policies.
  void add_to(PolicySet::Rules& rules, Position at, Faults& faults);

 private:
  class Tree;

  struct Domain {
    Policy policy;
    std::shared_ptr<EnvoyDomain> limits = std::make_shared<EnvoyDomain>();
  };

  std::deque<Domain> domains_;
};

}  // namespace headgate::policy
