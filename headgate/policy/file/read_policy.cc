#include "headgate/policy/file/read_policy.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "headgate/policy/file/flow_text.h"
#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/lint.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/file/read_calendar.h"
#include "headgate/policy/file/read_candidate.h"
#include "headgate/policy/file/read_cost.h"
#include "headgate/policy/file/read_delay.h"
#include "headgate/policy/file/read_grant.h"
#include "headgate/policy/file/read_match.h"
#include "headgate/policy/file/read_quota.h"
#include "headgate/policy/file/read_sharing.h"
#include "headgate/policy/file/read_terms.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/gives_more.h"
#include "headgate/policy/match/counted.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using yaml::Kind;
using yaml::Node;

std::vector<Component> read_key(const MapReader& map, const ClientAddress& settings,
                                Faults& faults) {
  const Node* node = map.find("key");
  if (node == nullptr) return {*Component::parse("address", settings)};
  std::vector<Component> key;
  const std::vector<const Node*> items = one_or_list(*node);
  if (items.size() > components_max) {
    faults.add(node->at, "key has " + std::to_string(items.size()) +
                             " components; expected at most " + std::to_string(components_max));
    return key;
  }
  for (const Node* item : items) {
    const auto text = read_text(*item, "key component", "one like address or header:NAME", faults);
    if (!text) continue;
    const auto component = Component::parse(*text, settings);
    if (component) {
      if (const auto lint = lint_component(*component)) {
        faults.warn(item->at, "key component " + in_quotes(*text) + ' ' + *lint);
      }
      key.push_back(*component);
    } else {
      faults.add(item->at, "key component " + in_quotes(*text) + " " + component.error());
    }
  }
  return key;
}

StatusSet read_refund_on(const MapReader& map, Faults& faults) {
  constexpr std::string_view expected = "a status like 304, or a class like 5xx";
  StatusSet statuses;
  const Node* node = map.find("refund-on");
  if (node == nullptr) return statuses;
  for (const Node* item : one_or_list(*node)) {
    const auto text = read_text(*item, "refund-on", expected, faults);
    if (!text) continue;
    const bool is_class =
        text->size() == 3 && text->ends_with("xx") && (*text)[0] >= '1' && (*text)[0] <= '5';
    const auto status = parse_integer(*text, 100, 599);
    if (is_class) {
      const auto first = static_cast<std::size_t>((*text)[0] - '0') * 100;
      for (std::size_t s = first; s < first + 100; ++s) statuses.set(s);
    } else if (status) {
      statuses.set(*status);
    } else {
      faults.add(item->at, "refund-on " + in_quotes(*text) +
                               " is not a response status; expected " + std::string(expected));
    }
  }
  return statuses;
}

// The cost of every request, or 0 if requests have their own.
std::uint64_t fixed_cost(const Rule& rule) {
  return rule.cost.source == CostRule::Source::fixed ? rule.cost.units : 0;
}

std::string above_quota(std::uint64_t cost, const limit::Quota& quota) {
  return "quota " + std::to_string(quota.units) + " is below the cost " + std::to_string(cost);
}

// Adds a warning if the policy denies every request whose key has no override. A quota of 0 says
// that it is meant to.
void lint_cost(const MapReader& map, const limit::Quota& quota, const Rule& rule, Faults& faults) {
  const std::uint64_t cost = fixed_cost(rule);
  if (quota.units == 0 || cost <= quota.units) return;
  faults.warn(map.find("cost")->at,
              above_quota(cost, quota) + ", so every request" +
                  (rule.overrides.empty() ? "" : " without an override") +
                  " is denied; expected a cost of at most the quota, or quota 0 to say so");
}

// The most ids in the overrides of one policy: more than files have that people maintain, and they
// load in less than a second.
constexpr std::size_t ids_max = 250'000;

// Reads the overrides of one policy.
class OverrideReader {
 public:
  OverrideReader(const limit::Quota& base, const limit::Terms& terms, IdLinter& linter,
                 Policy& policy, Rule& rule, Faults& faults)
      : base_(base),
        terms_(terms),
        linter_(linter),
        policy_(policy),
        rule_(rule),
        faults_(faults) {}

  void read(const Node& node) {
    const auto entries = read_list(node, "overrides", "a list of maps with ids and quota", faults_);
    if (!entries.empty() && rule_.key.empty()) {
      faults_.add(node.at,
                  "overrides of a policy with one global partition (key: []); expected a "
                  "key with at least one component");
      return;
    }
    for (const Node* entry : entries) read_entry(*entry);
  }

 private:
  void read_entry(const Node& node) {
    const MapReader map(node, "an override", override_keys, faults_);
    const auto grant = read_grant(map, node);
    const auto index = static_cast<std::uint32_t>(policy_.grants.size());
    if (grant) policy_.grants.push_back(*grant);
    const Node* ids = map.require("ids", "a list of partition keys");
    if (ids == nullptr) return;
    const auto items = read_list(*ids, "ids", "a list of partition keys", faults_);
    if (ids->kind == Kind::list && items.empty()) {
      faults_.add(ids->at, "ids is an empty list; expected at least one partition key");
    }
    for (const Node* id : items) {
      if (rule_.overrides.size() == ids_max) {
        faults_.add(id->at, "one more id after " + std::to_string(ids_max) +
                                "; expected at most so many in the overrides of a policy");
        return;
      }
      read_id(*id, index);
    }
  }

  std::optional<Grant> read_grant(const MapReader& map, const Node& node) {
    const Node* quota = map.find("quota");
    if (quota != nullptr && quota->kind == Kind::scalar && quota->text == "unlimited") {
      if (map.has("window") || map.has("rate") || map.has("burst") || map.has("count") ||
          map.has("period")) {
        faults_.add(quota->at,
                    "quota 'unlimited' together with a window or rate; expected it alone");
      }
      return Grant{{}, true, limit::Closed{}};
    }
    if (!has_quota(map)) {
      if (map.valid()) {
        faults_.add(node.at, "an override changes nothing; expected " +
                                 std::string(quota_spellings) + ", or 'quota: unlimited'");
      }
      return std::nullopt;
    }
    const auto own = read_other_quota(map, base_, terms_, faults_);
    if (!own) return std::nullopt;
    const std::uint64_t cost = fixed_cost(rule_);
    if (own->units > 0 && cost > own->units) {
      faults_.warn(quota_position(map), above_quota(cost, *own) +
                                            ", so every request of these ids is "
                                            "denied; expected at least the cost, or 0 to say so");
    }
    return make_grant(*own, terms_, quota_position(map), faults_);
  }

  void read_id(const Node& node, std::uint32_t grant) {
    const std::size_t count = rule_.key.size();
    const std::string expected = count == 1 ? "a single value, since the key has one component"
                                            : "a list of " + std::to_string(count) +
                                                  " values, one for each component of "
                                                  "the key";
    if (count > 1 && node.kind == Kind::list && node.children.size() != count) {
      faults_.add(node.at, "an id is a list of " + std::to_string(node.children.size()) +
                               "; expected " + expected);
      return;
    }
    if ((node.kind == Kind::list) != (count > 1)) {
      faults_.add(node.at,
                  "an id is " + std::string(yaml::kind_name(node.kind)) + "; expected " + expected);
      return;
    }
    const std::vector<const Node*> values = one_or_list(node);
    auto parts = read_block(node);
    if (!parts) parts = read_parts(values);
    if (!parts) return;
    const auto [it, is_new] =
        rule_.overrides.emplace(*std::move(parts), Override{grant, exact_path(values, grant)});
    if (is_new) {
      lines_.emplace(&it->first, node.at.line);
      lint(node, values);
      return;
    }
    std::string readable;
    append_readable(it->first, readable);
    faults_.add(node.at, "duplicate id " + in_quotes(readable) +
                             "; expected it in one override, and " + "line " +
                             std::to_string(lines_.at(&it->first)) + " has it already");
  }

  void lint(const Node& node, const std::vector<const Node*>& values) {
    std::vector<std::string_view> parts;
    for (const Node* value : values) parts.push_back(value->text);
    const auto lint = linter_.lint(rule_.key, parts, rule_.conditions);
    if (lint) faults_.warn(node.at, "id " + in_quotes(flow_text(node)) + ' ' + *lint);
  }

  // Returns the part of an id that is a block of more than one partition, where the key is an
  // address, or std::nullopt for any other id.
  std::optional<std::string> read_block(const Node& node) {
    if (rule_.key.size() != 1 || !rule_.key[0].is_address()) return std::nullopt;
    const auto block = AddressBlock::parse(node.text);
    if (!block || rule_.key[0].is_in_one_partition(*block)) return std::nullopt;
    auto& prefixes = block->lowest.is_v4() ? rule_.v4_prefixes : rule_.v6_prefixes;
    const auto place =
        std::lower_bound(prefixes.begin(), prefixes.end(), block->prefix, std::greater<>());
    if (place == prefixes.end() || *place != block->prefix) prefixes.insert(place, block->prefix);
    std::string part;
    append_counted(part, [&](std::string& out) {
      char text[Address::text_max];
      out.append(text, block->lowest.write(text, block->prefix));
    });
    return part;
  }

  // Returns the length-prefixed parts of an id, or std::nullopt if any of them is a fault.
  std::optional<std::string> read_parts(const std::vector<const Node*>& nodes) {
    std::string parts;
    bool good = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto text = read_text(*nodes[i], "an id", "a single value", faults_);
      good = good && text;
      if (!text) continue;
      const Component& component = rule_.key[i];
      const std::string complaint = component.complaint(*text);
      if (!complaint.empty()) {
        faults_.add(nodes[i]->at, "id " + in_quotes(*text) + " " + complaint);
        good = false;
      }
      append_counted(parts, [&](std::string& out) { component.append_given(*text, out); });
    }
    if (!good) return std::nullopt;
    return parts;
  }

  // Returns the path of an id, if it has one and its grant gives more than the policy's own.
  [[nodiscard]] std::optional<std::string> exact_path(const std::vector<const Node*>& values,
                                                      std::uint32_t grant) {
    if (grant >= policy_.grants.size() || !gives_more(policy_.grants[grant], base_)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!rule_.key[i].is_path()) continue;
      lint_path_rate(*values[i], policy_.grants[grant]);
      return std::string(values[i]->text);
    }
    return std::nullopt;
  }

  void lint_path_rate(const Node& path, const Grant& grant) {
    const bool is_slots = terms_.algorithm == limit::Algorithm::concurrency;
    if (grant.unlimited || is_slots || base_.units == 0 ||
        !gives_less_over_time(grant.quota, base_)) {
      return;
    }
    faults_.warn(path.at, "id " + in_quotes(path.text) +
                              " gives more at once and less over time than the policy, whose "
                              "numbers count for every other spelling of this path; expected "
                              "another policy for the lesser rate");
  }

  const limit::Quota& base_;
  const limit::Terms& terms_;
  IdLinter& linter_;
  Policy& policy_;
  Rule& rule_;
  Faults& faults_;
  // The line of each id, by the address of its key in rule_.overrides, which does not change.
  std::unordered_map<const std::string*, std::uint32_t> lines_;
};

// Adds faults for keys that make no sense with algorithm 'concurrency', which returns all slots of
// a request when it ends.
void refuse_for_slots(const MapReader& map, CostTime cost_time, Faults& faults) {
  if (const Node* node = map.find("refund-on")) {
    faults.add(
        node->at,
        "refund-on has no meaning with algorithm 'concurrency', which gives every slot back; "
        "expected no such key");
  }
  if (cost_time != CostTime::request) {
    faults.add(map.find("cost")->at,
               "cost is known only from the response, when algorithm 'concurrency' gives its slots "
               "back; expected an integer, request-bytes or {request-header: NAME}");
  }
}

void read_mode_and_status(const MapReader& map, Policy& policy, Faults& faults) {
  if (const Node* mode = map.find("mode")) {
    const auto value = read_choice<Mode>(*mode, "mode", mode_words, faults);
    if (value) policy.mode = *value;
  }
  if (const Node* status = map.find("status")) {
    const auto parse = [](std::string_view text) { return parse_integer(text, 400, 599); };
    const auto value = read_value<std::uint64_t>(*status, "status", "400 to 599", parse, faults);
    if (value) policy.status = static_cast<unsigned>(*value);
  }
}

// Returns how the policy compares paths, for Policy::path_text.
std::string path_text(const Rule& rule) {
  constexpr std::string_view folded =
      "as upstreams route them: /Login/, //login;x and /%6cogin are /login";
  constexpr std::string_view exact = "byte by byte, as sent";
  bool has_folded = std::any_of(rule.key.begin(), rule.key.end(),
                                [](const Component& component) { return component.is_path(); });
  bool has_exact = false;
  for (const Condition& condition : rule.conditions) {
    has_folded |= !condition.paths.empty();
    has_exact |= !condition.exact_paths.empty();
  }
  std::string text(has_folded ? folded : has_exact ? exact : "");
  if (has_folded && has_exact) text += "; exact-path " + std::string(exact);
  return text;
}

// Reads the conditions, the key and the cost: what decides which requests a policy counts, and how.
Rule read_rule(const MapReader& map, const ClientAddress& settings, Policy& policy,
               Faults& faults) {
  Rule rule;
  append_counted(rule.key_head, [&](std::string& out) { out.append(policy.name); });
  if (const Node* match = map.find("match")) {
    rule.conditions = read_conditions(*match, "match", Effect::limits, faults);
  }
  rule.key = read_key(map, settings, faults);
  read_cost(map, policy, rule, faults);
  if (const Node* key = map.find("key")) policy.key_text = flow_text(*key);
  if (const Node* match = map.find("match")) policy.match_text = flow_text(*match);
  policy.path_text = path_text(rule);
  if (const Node* cost = map.find("cost")) policy.cost_text = flow_text(*cost);
  return rule;
}

// Reads the terms, the quota and the overrides: what a policy grants.
void read_grants(const MapReader& map, IdLinter& linter, Policy& policy, Rule& rule,
                 Faults& faults) {
  limit::Terms& terms = policy.terms;
  terms = read_terms(map, policy.cost_time, faults);
  read_delay(map, policy, faults);
  policy.unit = read_unit(map, terms.algorithm, faults);
  const bool counts_slots = terms.algorithm == limit::Algorithm::concurrency;
  if (counts_slots) refuse_for_slots(map, policy.cost_time, faults);
  const bool has_calendar =
      terms.algorithm == limit::Algorithm::fixed_window && map.has("time-zone");
  const auto quota = counts_slots   ? read_slots(map, faults)
                     : has_calendar ? read_calendar_quota(map, terms, faults)
                                    : read_quota(map, nullptr, faults);
  if (quota) {
    if (const Node* offset = map.find("offset"); offset && terms.offset >= quota->window) {
      faults.add(offset->at, "offset " + in_quotes(offset->text) +
                                 " is not within the window; expected less than it");
    }
    const auto grant = make_grant(*quota, terms, quota_position(map), faults);
    if (grant) policy.grants.push_back(*grant);
  }
  if (const Node* overrides = map.find("overrides")) {
    // If the policy has no valid quota, the file is refused anyway. Any base then serves to find
    // the faults of the overrides.
    const limit::Quota base = quota.value_or(limit::Quota{1, nanos_per_second});
    OverrideReader(base, terms, linter, policy, rule, faults).read(*overrides);
  }
  set_reserve(policy, rule);
  if (quota) lint_cost(map, *quota, rule, faults);
}

}  // namespace

// Reads the name of a policy, which none read before may have.
std::string PolicyReader::read_name(const MapReader& map, Faults& faults) const {
  const Node* node = map.require("name", name_words);
  if (node == nullptr) return {};
  const auto name = read_text(*node, "name", name_words, faults);
  if (!name) return {};
  if (!is_name(*name)) {
    faults.add(node->at, "name " + in_quotes(*name) +
                             " can't stand in a RateLimit field; expected " +
                             std::string(name_words));
    return {};
  }
  refuse_taken(*name, *node, faults);
  return std::string(*name);
}

// Adds a fault if a policy before has this name.
void PolicyReader::refuse_taken(std::string_view name, const Node& node, Faults& faults) const {
  const auto first = rules_->by_name.find(name);
  if (first == rules_->by_name.end()) return;
  const Source& source = sources_[first->second];
  const bool is_here = source.faults->file() == faults.file();
  faults.add(node.at, "duplicate policy name " + in_quotes(name) + "; expected a unique one, and " +
                          (is_here ? "line " : source.faults->file() + ':') +
                          std::to_string(source.name.line) + " has it already");
}

// Reads the `unless` of one policy, which may name any other.
std::vector<std::size_t> PolicyReader::read_unless(const Policy& policy) const {
  constexpr std::string_view expected = "the name of another policy";
  const Source& source = sources_[policy.index];
  Faults& faults = *source.faults;
  std::vector<std::size_t> unless;
  for (const Node* item : one_or_list(*source.unless)) {
    const auto name = read_text(*item, "unless", expected, faults);
    if (!name) continue;
    const auto found = rules_->by_name.find(*name);
    if (found == rules_->by_name.end()) {
      std::optional<std::string_view> near;
      if (!faults.has_enough()) {
        std::vector<std::string_view> known;
        for (const Policy& other : rules_->policies) known.push_back(other.name);
        near = nearest(*name, known);
      }
      faults.add(item->at, "unless " + in_quotes(*name) + " names no policy; " +
                               (near ? "did you mean " + in_quotes(*near) + "?"
                                     : "expected " + std::string(expected)));
    } else if (rules_->policies[found->second].is_candidate()) {
      faults.add(item->at, "unless " + in_quotes(*name) + " names a candidate; expected " +
                               in_quotes(rules_->policies[found->second].candidate_of) +
                               ", of which it is one");
    } else if (found->second == policy.index) {
      faults.add(item->at, "unless names the policy itself; expected another policy");
    } else if (rules_->rules[found->second].conditions.empty()) {
      faults.add(item->at, "unless " + in_quotes(*name) +
                               " names a policy without match, which every request matches; "
                               "expected one with match");
    } else {
      unless.push_back(found->second);
    }
  }
  return unless;
}

void PolicyReader::read_policy(const Node& node, Faults& faults) {
  const MapReader map(node, "a policy", policy_keys, faults);
  Policy policy;
  policy.index = rules_->policies.size();
  policy.name = read_name(map, faults);
  policy.refund_on = read_refund_on(map, faults);
  read_mode_and_status(map, policy, faults);
  read_sharing(map, settings_, policy, faults);
  Rule rule = read_rule(map, settings_.client_address, policy, faults);
  read_grants(map, linter_, policy, rule, faults);
  refuse_leases(map, policy, faults);

  const Node* name = map.find("name");
  const Source source{&faults, name != nullptr ? name->at : node.at, map.find("unless")};
  add(std::move(policy), std::move(rule), source);
  if (const Node* candidate = map.find("candidate")) add_candidate(map, *candidate, source);
}

void PolicyReader::add(Policy policy, Rule rule, const Source& source) {
  if (!policy.name.empty()) rules_->by_name.emplace(policy.name, policy.index);
  sources_.push_back(source);
  rules_->policies.push_back(std::move(policy));
  const auto same_key = std::find_if(rules_->rules.begin(), rules_->rules.end(),
                                     [&](const Rule& other) { return other.key == rule.key; });
  rule.key_group = static_cast<std::size_t>(same_key - rules_->rules.begin());
  rules_->rules.push_back(std::move(rule));
}

// Adds the candidate of the policy that was added last: a policy that differs from it only in its
// name and numbers, as if the file had these.
void PolicyReader::add_candidate(const MapReader& map, const Node& node, const Source& source) {
  Faults& faults = *source.faults;
  Policy& live = rules_->policies.back();
  const auto read = read_candidate(node, live, faults);
  if (!read || live.name.empty()) return;
  if (rules_->policies.size() == policies_max) return refuse_more(node, faults);

  Policy policy = live;
  Rule rule = rules_->rules.back();
  live.has_candidate = true;
  live.candidate_share = policy.candidate_share = read->share;
  policy.candidate_of = live.name;
  policy.name = live.name + std::string(candidate_mark);
  policy.index = live.index + 1;
  policy.grants = {read->grant};
  refuse_taken(policy.name, node, faults);
  rule.key_head.clear();
  append_counted(rule.key_head, [&](std::string& out) { out.append(policy.name); });
  rule.overrides.clear();
  rule.v4_prefixes.clear();
  rule.v6_prefixes.clear();
  if (const Node* overrides = map.find("overrides")) {
    Faults known(faults.file());  // those of the policy
    OverrideReader(read->grant.quota, policy.terms, linter_, policy, rule, known).read(*overrides);
  }
  set_reserve(policy, rule);
  const std::uint64_t cost = fixed_cost(rule);
  if (read->grant.quota.units > 0 && cost > read->grant.quota.units) {
    faults.warn(read->quota_at, above_quota(cost, read->grant.quota) +
                                    ", so the candidate denies every request; expected at least "
                                    "the cost, or 0 to say so");
  }
  add(std::move(policy), std::move(rule), {source.faults, node.at, source.unless});
}

void PolicyReader::refuse_more(const Node& node, Faults& faults) {
  faults.add(node.at, "one more policy after " + std::to_string(policies_max) +
                          "; expected at most so many");
}

void PolicyReader::read(const Node& list, Faults& faults) {
  for (const Node* policy : read_list(list, "policies", "a list of policies", faults)) {
    if (rules_->policies.size() == policies_max) return refuse_more(*policy, faults);
    read_policy(*policy, faults);
  }
}

std::unique_ptr<PolicySet::Rules> PolicyReader::finish() {
  std::size_t for_all = 0;
  for (Policy& policy : rules_->policies) {
    const Source& source = sources_[policy.index];
    const Node* others = source.unless;
    const bool is_for_all = others == nullptr && rules_->rules[policy.index].conditions.empty();
    if (is_for_all && ++for_all == policies_per_request_max + 1) {
      source.faults->add(source.name, "policy " + std::to_string(for_all) +
                                          " that applies to every request; expected at most " +
                                          std::to_string(for_all - 1) + " without match");
    }
    if (others == nullptr) continue;
    if (policy.is_candidate()) {
      rules_->rules[policy.index].unless = rules_->rules[policy.twin()].unless;
      policy.match_text = rules_->policies[policy.twin()].match_text;
      continue;
    }
    rules_->rules[policy.index].unless = read_unless(policy);
    if (policy.match_text.empty()) policy.match_text = "every request";
    policy.match_text += ", unless " + flow_text(*others);
  }
  return std::move(rules_);
}

}  // namespace headgate::policy
