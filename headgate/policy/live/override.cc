#include "headgate/policy/live/override.h"

#include <map>
#include <string_view>
#include <utility>

#include "headgate/base/result.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/gives_more.h"
#include "headgate/policy/law_of.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/policy_set.h"
#include "headgate/policy/shared_of.h"

namespace headgate::policy {
namespace {

// What the override grants. The error is a sentence.
Result<Grant, std::string> grant_of(const LiveOverride& override, const Policy& policy) {
  const auto failure = [&](const std::string& what) {
    return Failure<std::string>("policy " + in_quotes(policy.name) + ' ' + what);
  };
  const limit::Terms& terms = policy.terms;
  if (override.window && policy.holds_slots()) {
    return failure("counts what is in flight; expected a quota without a window");
  }
  if (override.window && terms.calendar != nullptr) {
    return failure("has windows of a calendar; expected a quota without a window");
  }
  if (!override.quota && override.window) {
    return failure("cannot be unlimited over a window; expected no window");
  }
  if (!override.quota) return Grant{{}, true, limit::Closed{}};
  const Grant& own = policy.grants.front();
  if (own.unlimited && !override.window && !policy.holds_slots()) {
    return failure("has no window of its own; expected one together with the quota");
  }
  const limit::Quota quota{*override.quota, override.window.value_or(own.quota.window)};
  Grant grant{quota, false, limit::Closed{}};
  if (!make_laws(terms, grant)) {
    return failure(
        "would have a quota and a window beyond exact 128-bit arithmetic; expected a smaller quota "
        "or a shorter window");
  }
  grant.shared = shared_of(policy, grant);
  return grant;
}

// The parts of a key that is given as text: as many as the rule has components, or a different
// number.
std::vector<std::string> parts_of(const Rule& rule, const std::string& key) {
  return rule.key.size() >= 2 ? split_readable(key, rule.key.size()) : std::vector{key};
}

// Returns what is wrong with the parts of the key, or "".
std::string complaint(const Rule& rule, const std::string& key) {
  if (rule.key.empty()) {
    return key.empty() ? "" : "is not empty; expected an empty one, because the policy has key: []";
  }
  const std::vector<std::string> parts = parts_of(rule, key);
  if (parts.size() != rule.key.size()) {
    return "does not have " + std::to_string(rule.key.size()) +
           " parts with a comma between; expected one for each component of the policy's key";
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string what = rule.key[i].complaint(parts[i]);
    if (!what.empty()) return what;
  }
  return {};
}

// The path in the key as it was given, if it has one.
std::optional<std::string> path_in(const Rule& rule, const std::string& key) {
  const std::vector<std::string> parts = parts_of(rule, key);
  for (std::size_t i = 0; i < rule.key.size(); ++i) {
    if (rule.key[i].is_path()) return parts[i];
  }
  return std::nullopt;
}

// The id under which the rule finds overrides of a partition.
std::string_view id_of(const Rule& rule, const Match& match) {
  return rule.boulder != nullptr ? rule.boulder->override_of(match.partition)
                                 : match.own_key.substr(rule.key_head.size());
}

// An override as the rules of its policy have it, or those of the policy's candidate.
struct Fitting {
  std::size_t policy;  // index
  Grant grant;
  std::string id;
  std::optional<std::string> exact_path;
};

// The policy's own, and then that of its candidate if it has one. The error is a sentence.
Result<std::vector<Fitting>, std::string> fit(const LiveOverride& override,
                                              const PolicySet& policies,
                                              const std::vector<Rule>& rules) {
  const auto failure = [](std::string what) { return Failure<std::string>(std::move(what)); };
  std::string text;
  const auto match = policies.named(override.policy, override.key, 0, text);
  if (!match) return failure("there is no policy " + in_quotes(override.policy));
  const Policy& policy = *policies.find(override.policy);
  const Rule& rule = rules[policy.index];
  if (policy.is_candidate()) {
    return failure("policy " + in_quotes(policy.name) + " is a candidate; expected policy " +
                   in_quotes(policy.candidate_of) + ", whose overrides are those of both");
  }
  if (rule.envoy != nullptr) {
    return failure("policy " + in_quotes(policy.name) +
                   " is a domain of Envoy's configuration; expected a policy of the policy file");
  }
  if (rule.boulder == nullptr) {
    const std::string what = complaint(rule, override.key);
    if (!what.empty()) return failure("key " + in_quotes(override.key) + ' ' + what);
  }
  const std::string id(id_of(rules[match->policy->index], *match));
  if (rule.boulder != nullptr && id.size() < match->partition.size()) {
    return failure("key " + in_quotes(override.key) +
                   " is of one bucket, and overrides of this limit are of a registration id; "
                   "expected " +
                   id);
  }
  std::vector<Fitting> fittings;
  for (std::size_t i = policy.index; i <= policy.index + (policy.has_candidate ? 1 : 0); ++i) {
    const Policy& numbers = policies.policies()[i];
    auto grant = grant_of(override, numbers);
    if (!grant) return failure(std::move(grant.error()));
    const Grant& base = numbers.grants.front();
    const bool is_more = !base.unlimited && gives_more(*grant, base.quota);
    fittings.push_back(
        {i, *std::move(grant), id, is_more ? path_in(rule, override.key) : std::nullopt});
  }
  return fittings;
}

}  // namespace

std::string PolicySet::fault_of(const LiveOverride& override) const {
  const auto fittings = fit(override, *this, rules_->rules);
  return fittings ? std::string() : fittings.error();
}

Overridden PolicySet::with(std::span<const LiveOverride> overrides) const {
  auto rules = std::make_unique<Rules>(*rules_);
  Overridden made;
  made.faults.reserve(overrides.size());
  // Those of each policy by id: a file that was edited by hand may have a partition twice.
  std::map<std::pair<std::size_t, std::string>, std::size_t> seen;
  for (const LiveOverride& override : overrides) {
    auto fittings = fit(override, *this, rules_->rules);
    made.faults.push_back(fittings ? std::string() : std::move(fittings.error()));
    if (!fittings) continue;
    const std::size_t index = made.faults.size() - 1;
    const auto [known, is_first] =
        seen.try_emplace({fittings->front().policy, fittings->front().id}, index);
    if (!is_first) {
      made.faults[std::exchange(known->second, index)] =
          "key " + in_quotes(override.key) + ", which comes later, is the same partition";
    }
    for (Fitting& fitting : *fittings) {
      std::vector<Grant>& grants = rules->policies[fitting.policy].grants;
      rules->rules[fitting.policy].overrides.insert_or_assign(
          std::move(fitting.id),
          Override{static_cast<std::uint32_t>(grants.size()), std::move(fitting.exact_path)});
      grants.push_back(std::move(fitting.grant));
    }
  }
  made.policies = std::make_shared<const PolicySet>(settings_, std::move(rules));
  return made;
}

}  // namespace headgate::policy
