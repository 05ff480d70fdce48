// Boulder's two files of rate limits, as they are.
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

// Collects the limits of both files, each in any number of files; a later override of the same id
// replaces the earlier one. A file with a fault may have been read in part.
class BoulderReader {
 public:
  BoulderReader();

  // A map from names of limits to their burst, count and period.
  void read_defaults(std::string_view yaml, Faults& faults);
  // A list of maps, each from one name to burst, count, period and the ids that it is for, which
  // are texts, or maps with `id` and perhaps `comment`.
  void read_overrides(std::string_view yaml, Faults& faults);

  // Adds every limit that Boulder has as a policy that is reached by its name alone. One without a
  // default limits nobody but the ids of its overrides. Names that are taken, and more policies
  // than there may be, are faults at `at`.
  void add_to(PolicySet::Rules& rules, Position at, Faults& faults);

 private:
  struct Limit {
    Policy policy;  // its first grant is the default
    Rule rule;
    // Grants by their burst, count and period, since many overrides are alike.
    std::map<std::tuple<std::uint64_t, std::uint64_t, Nanos>, std::uint32_t> grants;
  };

  Limit* find(const yaml::Node& name, std::string_view where, Faults& faults);
  void read_override(const yaml::Node& entry, Faults& faults);

  std::vector<Limit> limits_;  // in the order of boulder_names()
};

}  // namespace headgate::policy
