// envoyproxy/ratelimit's configuration, as it is.
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

// How a configuration's limits are counted, from `algorithm`, `denied`, `reset` and so on beside
// the name of its file. Without them as envoyproxy/ratelimit counts: windows aligned to the epoch,
// in which denied hits count.
[[nodiscard]] limit::Terms read_envoy_terms(const MapReader& map, Faults& faults);
[[nodiscard]] limit::Terms envoy_terms() noexcept;

// What a limit comes to. std::nullopt beyond exact arithmetic.
[[nodiscard]] std::optional<Grant> envoy_grant(const EnvoyLimit& limit, const limit::Terms& terms);

// Collects the domains of any number of files, one each.
class EnvoyReader {
 public:
  // A domain and its descriptors. A file with a fault may have been read in part.
  void read(std::string_view yaml, const limit::Terms& terms, Faults& faults);

  // Adds every domain as a policy of its name that is reached by descriptors alone. Names that are
  // taken, and more policies than there may be, are faults at `at`.
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
