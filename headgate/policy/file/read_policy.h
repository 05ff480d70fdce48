// Reads the lists of policies of policy files.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/lint.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// Reads and validates the `policies` of a policy file, and of the files that it includes.
class PolicyReader {
 public:
  // `settings` outlive this. `allow`: the conditions of that key.
  PolicyReader(const Settings& settings, std::vector<Condition> allow)
      : settings_(settings), rules_(rules_with(std::move(allow))), linter_(rules_->allow) {}

  // Reads a list of policies of the file that `faults` are of. `list` and `faults` live until
  // finish().
  void read(const yaml::Node& list, Faults& faults);

  // Reads what policies say of others. The result is complete only if no fault was added.
  [[nodiscard]] std::unique_ptr<PolicySet::Rules> finish();

 private:
  // The place of a policy in its file.
  struct Source {
    Faults* faults;
    Position name;
    const yaml::Node* unless;  // or nullptr
  };

  void read_policy(const yaml::Node& node, Faults& faults);
  void add(Policy policy, Rule rule, const Source& source);
  void add_candidate(const MapReader& map, const yaml::Node& node, const Source& source);
  void refuse_taken(std::string_view name, const yaml::Node& node, Faults& faults) const;
  static void refuse_more(const yaml::Node& node, Faults& faults);
  [[nodiscard]] std::string read_name(const MapReader& map, Faults& faults) const;
  [[nodiscard]] std::vector<std::size_t> read_unless(const Policy& policy) const;

  [[nodiscard]] static std::unique_ptr<PolicySet::Rules> rules_with(std::vector<Condition> allow) {
    auto rules = std::make_unique<PolicySet::Rules>();
    rules->allow = std::move(allow);
    return rules;
  }

  const Settings& settings_;
  std::unique_ptr<PolicySet::Rules> rules_;
  IdLinter linter_;
  std::vector<Source> sources_;  // of the policy with the same index
};

}  // namespace headgate::policy
