#include "headgate/policy/envoy/read_envoy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "headgate/limit/law.h"
#include "headgate/policy/algorithm.h"
#include "headgate/policy/file/read_terms.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/match/component.h"
#include "headgate/policy/match/counted.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using limit::Algorithm;
using yaml::Kind;
using yaml::Node;

// The most entries of a descriptor. Envoy sends one entry per action of a route, which are a few.
// Bounds the recursion of Tree.
constexpr std::size_t levels_max = 64;

constexpr std::string_view unit_words = "second, minute, hour, day, week, month or year";

std::optional<EnvoyUnit> unit_of(std::string_view word) {
  constexpr std::pair<std::string_view, EnvoyUnit> units[] = {
      {"second", EnvoyUnit::second}, {"minute", EnvoyUnit::minute}, {"hour", EnvoyUnit::hour},
      {"day", EnvoyUnit::day},       {"week", EnvoyUnit::week},     {"month", EnvoyUnit::month},
      {"year", EnvoyUnit::year}};
  for (const auto& [name, unit] : units) {
    if (name == lowered(word)) return unit;
  }
  return std::nullopt;
}

// Returns nullptr for absent and empty values: envoyproxy/ratelimit treats both alike.
const Node* find_filled(const MapReader& map, std::string_view key) {
  const Node* node = map.find(key);
  return node == nullptr || node->kind == Kind::empty ? nullptr : node;
}

std::string_view read_words(const MapReader& map, std::string_view key, Faults& faults) {
  const Node* node = find_filled(map, key);
  if (node == nullptr) return {};
  return read_text(*node, key, "a text", faults).value_or(std::string_view());
}

// The same for a text that must not be empty. `empty` is the text of that fault.
std::string_view require_words(const MapReader& map, std::string_view key, const char* empty,
                               Faults& faults) {
  const Node* node = map.find(key);
  if (node == nullptr || node->kind == Kind::empty ||
      (node->kind == Kind::scalar && node->text.empty())) {
    faults.add(node == nullptr ? map.at() : node->at, empty);
    return {};
  }
  return read_words(map, key, faults);
}

// Reads the words for true and false of YAML 1.1, which envoyproxy/ratelimit accepts.
bool read_flag(const MapReader& map, std::string_view key, Faults& faults) {
  const Node* node = find_filled(map, key);
  if (node == nullptr) return false;
  const auto parse = [](std::string_view text) -> Result<bool, std::string> {
    const std::string word = lowered(text);
    if (word == "true" || word == "yes" || word == "on") return true;
    if (word == "false" || word == "no" || word == "off") return false;
    return Failure<std::string>("is neither; expected true or false");
  };
  return read_value<bool>(*node, key, "true or false", parse, faults).value_or(false);
}

}  // namespace

limit::Terms envoy_terms() noexcept {
  limit::Terms terms;
  terms.algorithm = Algorithm::fixed_window;
  terms.aligned = true;
  terms.denied = limit::Denied::spend;
  terms.reset = limit::Reset::window;
  return terms;
}

limit::Terms read_envoy_terms(const MapReader& map, Faults& faults) {
  const limit::Terms as_there = envoy_terms();
  limit::Terms terms = read_terms(map, CostTime::request, faults, as_there.algorithm);
  if (terms.algorithm == Algorithm::concurrency) {
    faults.add(map.find("algorithm")->at,
               "algorithm 'concurrency' can't count requests whose end is not reported; expected "
               "one with a window");
  }
  if (terms.algorithm == as_there.algorithm) {
    if (!map.has("aligned")) terms.aligned = as_there.aligned;
    if (!map.has("denied")) terms.denied = as_there.denied;
    if (!map.has("reset")) terms.reset = as_there.reset;
  }
  return terms;
}

std::optional<Grant> envoy_grant(const EnvoyLimit& limit, const limit::Terms& terms) {
  const limit::Quota quota{limit.requests_per_unit, window_of(limit.unit)};
  limit::Terms own = terms;
  own.offset %= quota.window;  // the configuration's offset may be longer than this window
  const auto law = limit::make_law(quota, own);
  if (!law) return std::nullopt;
  return Grant{.quota = quota,
               .law = *law,
               .envoy = &limit,
               .shadow = limit.shadow,
               .quota_mode = limit.quota_mode,
               .reported = !limit.title.empty(),
               .title = limit.title};
}

// Reads the descriptors of one file into its domain.
class EnvoyReader::Tree {
 public:
  Tree(Domain& domain, Faults& faults) : domain_(domain), faults_(faults) {}

  // Reads the descriptors below the node `parent`. `path` is that of this node in the file.
  void read_descriptors(const Node& list, EnvoyDomain::Node parent, const std::string& path,
                        std::size_t level) {
    if (list.kind == Kind::empty) return;
    if (level > levels_max) {
      faults_.add(list.at, "descriptors are nested too deeply; expected at most " +
                               std::to_string(levels_max) + " levels");
      return;
    }
    for (const Node* item : read_list(list, "descriptors", "a list of descriptors", faults_)) {
      read_descriptor(*item, parent, path, level);
    }
  }

 private:
  void read_descriptor(const Node& node, EnvoyDomain::Node parent, const std::string& above,
                       std::size_t level) {
    static constexpr Key keys[] = {{"key"},
                                   {"value"},
                                   {"rate_limit"},
                                   {"descriptors"},
                                   {"shadow_mode"},
                                   {"quota_mode"},
                                   {"detailed_metric"},
                                   {"value_to_metric"},
                                   {"share_threshold"},
                                   {"metadata"}};
    const MapReader map(node, "a descriptor", keys, faults_);
    if (!map.valid()) return;
    const std::string_view key = require_words(
        map, "key", "descriptor has empty key; expected that of an entry, like remote_address",
        faults_);
    if (key.empty()) return;
    const std::string_view value = read_words(map, "value", faults_);
    const auto tree_node = domain_.limits->add(parent, key, value);
    if (!tree_node) {
      faults_.add(map.find("key")->at,
                  "duplicate descriptor composite key " +
                      in_quotes(value.empty() ? std::string(key)
                                              : std::string(key) + "_" + std::string(value)) +
                      "; expected each key with each value once");
      return;
    }
    read_options(map, value, *tree_node);
    const std::string path = path_of(above, key, value);
    EnvoyLimit limit;
    limit.shadow = read_flag(map, "shadow_mode", faults_);
    limit.quota_mode = read_flag(map, "quota_mode", faults_);
    if (const Node* rate = find_filled(map, "rate_limit")) {
      read_limit(*rate, *tree_node, path, std::move(limit));
    }
    if (const Node* nested = map.find("descriptors")) {
      read_descriptors(*nested, *tree_node, path, level + 1);
    }
  }

  // Reads the options of a descriptor that are not about its limit.
  void read_options(const MapReader& map, std::string_view value, EnvoyDomain::Node tree_node) {
    if (read_flag(map, "share_threshold", faults_)) {
      if (value.find('*') == std::string_view::npos) {
        faults_.add(map.find("share_threshold")->at,
                    "share_threshold can only be used with wildcard values; expected a value with "
                    "'*'");
      }
      domain_.limits->share(tree_node);
    }
    // Options of metrics are checked and have no effect.
    static_cast<void>(read_flag(map, "detailed_metric", faults_));
    static_cast<void>(read_flag(map, "value_to_metric", faults_));
  }

  // Returns the path of a descriptor in the file: "ABOVE/KEY=VALUE". Cut after name_max + 1
  // characters, since title_for() uses no more than name_max.
  static std::string path_of(const std::string& above, std::string_view key,
                             std::string_view value) {
    std::string path = above;
    if (!path.empty()) path += '/';
    path += key;
    if (!value.empty()) path.append("=").append(value);
    path.resize(std::min(path.size(), name_max + 1));
    return path;
  }

  void read_limit(const Node& node, EnvoyDomain::Node tree_node, const std::string& path,
                  EnvoyLimit limit) {
    static constexpr Key keys[] = {
        {"name"}, {"replaces"}, {"unit"}, {"requests_per_unit"}, {"unlimited"}};
    const MapReader map(node, "rate_limit", keys, faults_);
    if (!map.valid()) return;
    limit.name = read_words(map, "name", faults_);
    limit.name_id = id_of(limit.name);
    read_replaces(map, limit);
    const bool unlimited = read_flag(map, "unlimited", faults_);
    const Node* unit = find_filled(map, "unit");
    const std::string_view word = read_words(map, "unit", faults_);
    const auto known = unit_of(word);
    if (unlimited && known) {
      faults_.add(unit->at,
                  "should not specify rate limit unit when unlimited; expected one of both");
    } else if (!unlimited && unit == nullptr) {
      faults_.add(map.at(), "invalid rate limit unit ''; expected " + std::string(unit_words));
    } else if (unit != nullptr && unit->kind == Kind::scalar && !known) {
      faults_.add(unit->at, "invalid rate limit unit " + in_quotes(word) + "; expected " +
                                std::string(unit_words));
    }
    const auto quota = read_quota(map, unlimited);
    if (unlimited) {
      limit.title = title_for(limit, path);
      add(tree_node, {{}, true, limit::Closed{}, &domain_.limits->keep(std::move(limit))});
      return;
    }
    if (!known || !quota) return;
    limit.unit = *known;
    limit.requests_per_unit = *quota;
    limit.title = title_for(limit, path);
    const EnvoyLimit& kept = domain_.limits->keep(std::move(limit));
    if (const auto grant = envoy_grant(kept, domain_.policy.terms)) {
      add(tree_node, *grant);
    } else {
      faults_.add(map.find("requests_per_unit")->at,
                  "requests_per_unit over this unit is beyond exact 128-bit arithmetic; expected "
                  "less");
    }
  }

  std::optional<std::uint32_t> read_quota(const MapReader& map, bool unlimited) {
    constexpr std::string_view expected = "an integer, 0 to 4294967295; 0 denies everything";
    const Node* node =
        unlimited ? map.find("requests_per_unit") : map.require("requests_per_unit", expected);
    if (node == nullptr) return std::nullopt;
    const auto parse = [](std::string_view text) {
      return parse_go_integer(text, 0, std::numeric_limits<std::uint32_t>::max());
    };
    const auto quota =
        read_value<std::uint64_t>(*node, "requests_per_unit", expected, parse, faults_);
    if (!quota) return std::nullopt;
    return static_cast<std::uint32_t>(*quota);
  }

  void read_replaces(const MapReader& map, EnvoyLimit& limit) {
    static constexpr Key keys[] = {{"name"}};
    const Node* list = find_filled(map, "replaces");
    if (list == nullptr) return;
    for (const Node* item : read_list(*list, "replaces", "a list of maps with 'name'", faults_)) {
      const MapReader entry(*item, "an entry of replaces", keys, faults_);
      if (!entry.valid()) continue;
      const std::string_view name = require_words(
          entry, "name", "should not have an empty replaces entry; expected the name of a limit",
          faults_);
      if (name.empty()) continue;
      if (name == limit.name) {
        faults_.add(entry.at(), "replaces should not contain name of same descriptor, " +
                                    in_quotes(name) + "; expected that of another one");
      }
      limit.replaces.push_back(id_of(name));
    }
  }

  EnvoyLimit::NameId id_of(std::string_view name) {
    if (name.empty()) return 0;
    const auto next = static_cast<EnvoyLimit::NameId>(ids_.size() + 1);
    return ids_.try_emplace(std::string(name), next).first->second;
  }

  // Returns the limit's title: its name, or its path in the file, made printable, cut to name_max
  // characters, and with "~2", "~3" and so on at the end if another limit of the domain has it.
  std::string title_for(const EnvoyLimit& limit, const std::string& path) {
    std::string title = limit.name.empty() ? path : limit.name;
    const auto unprintable = [](char c) { return c < 0x20 || c > 0x7e; };
    std::replace_if(title.begin(), title.end(), unprintable, '?');
    for (std::uint32_t& number = titles_[title.substr(0, name_max)];; ++number) {
      const std::string mark = number == 0 ? "" : '~' + std::to_string(number + 1);
      std::string candidate = title.substr(0, name_max - mark.size()) + mark;
      if (!taken_.insert(candidate).second) continue;
      ++number;
      return candidate;
    }
  }

  void add(EnvoyDomain::Node tree_node, const Grant& grant) {
    domain_.limits->grant(tree_node, static_cast<std::uint32_t>(domain_.policy.grants.size()));
    domain_.policy.grants.push_back(grant);
  }

  Domain& domain_;
  Faults& faults_;
  std::map<std::string, EnvoyLimit::NameId> ids_;
  std::map<std::string, std::uint32_t> titles_;  // the number of limits with this title, before "~"
  std::set<std::string> taken_;                  // all titles
};

void EnvoyReader::read(std::string_view text, const limit::Terms& terms, Faults& faults) {
  static constexpr Key keys[] = {{"domain"}, {"descriptors"}};
  const auto document = yaml::Document::parse(text, "'domain:' and 'descriptors:'", faults);
  if (!document) return;
  const MapReader map(document->root(), "the file", keys, faults);
  if (!map.valid()) return;
  const std::string_view name = require_words(
      map, "domain", "config file cannot have empty domain; expected 'domain:' and its name",
      faults);
  const Position at = map.has("domain") ? map.find("domain")->at : map.at();
  if (name.size() > name_max || !is_printable(name)) {
    faults.add(at, "domain " + in_quotes(name) +
                       " can't name a policy; expected 1 to 64 printable ASCII characters");
  } else if (name == reserved_domain) {
    faults.add(at, "domain " + in_quotes(name) +
                       " is reserved for the policies of the policy file; expected another one");
  }
  for (const Domain& other : domains_) {
    if (other.policy.name != name) continue;
    faults.add(at, "duplicate domain " + in_quotes(name) + "; expected each in one file");
    return;
  }
  Domain& domain = domains_.emplace_back();
  domain.policy.name = name;
  domain.policy.terms = terms;
  domain.policy.grants.push_back({{}, true, limit::Closed{}});
  domain.policy.key_text = "a descriptor";
  domain.policy.match_text = "no request: reached by descriptors alone";
  if (const Node* descriptors = map.find("descriptors")) {
    Tree(domain, faults).read_descriptors(*descriptors, EnvoyDomain::root, "", 1);
  }
}

void EnvoyReader::add_to(PolicySet::Rules& rules, Position at, Faults& faults) {
  for (Domain& domain : domains_) {
    if (rules.policies.size() == policies_max) {
      faults.add(at, "envoy brings " + std::to_string(domains_.size()) +
                         " domains, with which there are more policies than " +
                         std::to_string(policies_max) + "; expected fewer");
      return;
    }
    Policy& policy = domain.policy;
    policy.index = rules.policies.size();
    if (!rules.by_name.emplace(policy.name, policy.index).second) {
      faults.add(at, "envoy brings a domain " + in_quotes(policy.name) +
                         ", and there is a policy of that name; expected another name for one of "
                         "them");
    }
    Rule& rule = rules.rules.emplace_back();
    append_counted(rule.key_head, [&](std::string& out) { out.append(policy.name); });
    rule.envoy = std::move(domain.limits);
    rules.policies.push_back(std::move(policy));
  }
}

}  // namespace headgate::policy
