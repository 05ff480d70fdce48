// Reads Boulder's two files of rate limits, in Boulder's own format.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

// A token bucket as Boulder configures it, and the quota that it amounts to.
struct BoulderParameters {
  std::uint64_t burst = 0;
  std::uint64_t count = 0;
  Nanos period = 0;
  limit::Quota quota;
};

// Collects the limits of any number of both files. A later override of the same id replaces the
// earlier one. Of a file with a fault, a part may have been added.
class BoulderReader {
 public:
  BoulderReader();

  // Reads a map from names of limits to their burst, count and period.
  void read_defaults(std::string_view yaml, Faults& faults);
  // Reads a list of maps from the name of one limit to burst, count, period and the ids of the
  // override. An id is a text, or a map with `id` and optionally `comment`.
  void read_overrides(std::string_view yaml, Faults& faults);

  // Adds every limit of Boulder as a policy that only PolicySet::named() reaches. A limit without a
  // default applies only to the ids of its overrides. Adds faults at `at` for names that are in
  // use, and for more than policies_max policies.
  void add_to(PolicySet::Rules& rules, Position at, Faults& faults);

 private:
  struct Limit {
    Policy policy;  // its first grant is the default
    Rule rule;
    // The index of each grant by burst, count and period: equal overrides share a grant.
    std::map<std::tuple<std::uint64_t, std::uint64_t, Nanos>, std::uint32_t> grants;
  };

  // Returns the limit with this name, or nullptr and a fault. `where` names the list in the fault.
  Limit* find(const yaml::Node& name, std::string_view where, Faults& faults);
  void read_override(const yaml::Node& entry, Faults& faults);
  // Returns the index of the grant for these parameters.
  static std::uint32_t add_grant(Limit& limit, const BoulderParameters& parameters);
  static void read_id(const yaml::Node& item, Limit& limit, std::uint32_t grant, Faults& faults);

  std::vector<Limit> limits_;  // in the order of boulder_names()
};

}  // namespace headgate::policy
