#include "headgate/policy/file/load.h"

#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "headgate/base/regular_file.h"
#include "headgate/policy/boulder/read_boulder.h"
#include "headgate/policy/envoy/read_envoy.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/flow_text.h"
#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/file/read_match.h"
#include "headgate/policy/file/read_policy.h"
#include "headgate/policy/file/read_settings.h"
#include "headgate/policy/file/read_sharing.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/shared_of.h"

namespace headgate::policy {
namespace {

void read_version(const MapReader& file, Faults& faults) {
  const yaml::Node* node = file.require("version", "version: 1");
  if (node == nullptr) return;
  const auto text = read_text(*node, "version", "1", faults);
  if (text && *text != "1") {
    faults.add(node->at, "version " + in_quotes(*text) + " is not known; expected 1");
  }
}

// Returns the path of a file that a policy file names: relative to the policy file's folder.
std::string resolve_path(const std::string& policy_file, const std::string& path) {
  if (path.empty()) return path;
  return (std::filesystem::path(policy_file).parent_path() / path).string();
}

void resolve_paths(const std::string& policy_file, RedisSettings& redis) {
  redis.password_file = resolve_path(policy_file, redis.password_file);
  if (!redis.tls) return;
  for (std::string* path : {&redis.tls->ca, &redis.tls->cert, &redis.tls->key}) {
    *path = resolve_path(policy_file, *path);
  }
}

// Completes the policies with what they need if machines share them.
void share(const Settings& settings, PolicySet::Rules& rules) {
  for (Policy& policy : rules.policies) {
    if (rules.rules[policy.index].by_name_alone()) policy.sharing = default_sharing(settings);
    for (Grant& grant : policy.grants) grant.shared = shared_of(policy, grant);
  }
}

// Returns the text of a file that a policy file names, or adds a fault if it can't be read. `path`
// is that of the policy file, and then of the other.
std::optional<std::string> read_named(const yaml::Node* node, std::string_view key,
                                      std::string_view expected, std::string& path,
                                      Faults& faults) {
  if (node == nullptr) return std::nullopt;
  const auto given = read_text(*node, key, expected, faults);
  if (!given) return std::nullopt;
  path = resolve_path(path, std::string(*given));
  auto text = read_regular_file(path, yaml::bytes_max);
  if (text) return std::move(*text);
  faults.add(node->at, std::string(key) + " " + in_quotes(path) + " " + text.error() +
                           "; expected " + std::string(expected));
  return std::nullopt;
}

// What is to be said about the files that a policy file names.
struct Others {
  std::vector<Fault> faults;
  std::vector<Fault> warnings;
};

// Reads a file that a policy file names, and calls take(text, faults) with its text. The faults and
// warnings of that file are appended to `others`.
template <class Take>
void read_other(const yaml::Node* node, std::string_view key, std::string_view expected,
                const std::string& name, Faults& faults, Others& others, Take take) {
  std::string path = name;
  const auto text = read_named(node, key, expected, path, faults);
  if (!text) return;
  Faults own(path);
  take(*text, own);
  for (Fault& fault : own.take()) others.faults.push_back(std::move(fault));
  for (Fault& warning : own.take_warnings()) others.warnings.push_back(std::move(warning));
}

// Reads the key `boulder`. Boulder's limits become policies after those of the file.
void read_boulder(const MapReader& file, const std::string& name, PolicySet::Rules& rules,
                  Faults& faults, Others& others) {
  const yaml::Node* node = file.find("boulder");
  if (node == nullptr) return;
  const MapReader map(*node, "boulder", boulder_keys, faults);
  if (map.valid() && !map.has("defaults") && !map.has("overrides")) {
    faults.add(node->at, "boulder is an empty map; expected 'defaults', 'overrides' or both");
  }
  BoulderReader reader;
  read_other(map.find("defaults"), "defaults", "Boulder's file of default limits", name, faults,
             others, [&](std::string_view text, Faults& own) { reader.read_defaults(text, own); });
  read_other(map.find("overrides"), "overrides", "Boulder's file of overrides", name, faults,
             others, [&](std::string_view text, Faults& own) { reader.read_overrides(text, own); });
  reader.add_to(rules, node->at, faults);
}

// Reads the key `envoy`. Each of the files is a domain and becomes a policy.
void read_envoy(const MapReader& file, const std::string& name, PolicySet::Rules& rules,
                Faults& faults, Others& others) {
  constexpr std::string_view expected = "a configuration of envoyproxy/ratelimit";
  const yaml::Node* node = file.find("envoy");
  if (node == nullptr) return;
  const auto entries = one_or_list(*node);
  if (entries.empty()) {
    faults.add(node->at, "envoy is an empty list; expected the names of files");
  }
  EnvoyReader reader;
  for (const yaml::Node* entry : entries) {
    const yaml::Node* path = entry;
    limit::Terms terms = envoy_terms();
    if (entry->kind == yaml::Kind::map) {
      const MapReader map(*entry, "an entry of envoy", envoy_keys, faults);
      path = map.require("file", expected);
      terms = read_envoy_terms(map, faults);
    }
    read_other(path, "envoy", expected, name, faults, others,
               [&](std::string_view text, Faults& own) { reader.read(text, terms, own); });
  }
  reader.add_to(rules, node->at, faults);
}

// Returns the policies of a file, or nullptr if faults were added.
std::shared_ptr<const PolicySet> read(std::string_view text, const std::string& name,
                                      Faults& faults, Others& others) {
  const auto document = yaml::Document::parse(text, "'version: 1' and 'policies:'", faults);
  if (!document) return nullptr;
  const MapReader file(document->root(), "the file", file_keys, faults);
  read_version(file, faults);
  Settings settings = read_settings(file, faults);
  settings.table.file = resolve_path(name, settings.table.file);
  if (settings.redis) resolve_paths(name, *settings.redis);
  const yaml::Node* policies = file.has("boulder") || file.has("envoy")
                                   ? file.find("policies")
                                   : file.require("policies", "a list of policies");
  auto rules = std::make_unique<PolicySet::Rules>();
  if (const yaml::Node* allow = file.find("allow")) {
    rules->allow = read_conditions(*allow, "allow", Effect::exempts, faults);
    settings.allow_text = flow_text(*allow);
  }
  if (policies != nullptr) read_policies(*policies, settings, *rules, faults);
  read_boulder(file, name, *rules, faults, others);
  read_envoy(file, name, *rules, faults, others);
  if (!faults.empty() || !others.faults.empty()) return nullptr;
  rules->warnings = faults.take_warnings();
  std::move(others.warnings.begin(), others.warnings.end(), std::back_inserter(rules->warnings));
  share(settings, *rules);
  return std::make_shared<const PolicySet>(std::move(settings), std::move(rules));
}

Failure<std::vector<Fault>> one_fault(const std::string& file, std::string what) {
  return Failure<std::vector<Fault>>(std::vector<Fault>{{file, 0, 0, std::move(what)}});
}

}  // namespace

Loaded load_text(std::string_view yaml, const std::string& name) {
  try {
    Faults faults(name);
    Others others;
    auto policies = read(yaml, name, faults, others);
    if (policies != nullptr) return policies;
    std::vector<Fault> all = faults.take();
    std::move(others.faults.begin(), others.faults.end(), std::back_inserter(all));
    return Failure<std::vector<Fault>>(std::move(all));
  } catch (const std::exception& e) {
    return one_fault(name, std::string("can't be read: ") + e.what());
  }
}

Loaded load_file(const std::string& path) {
  try {
    const auto text = read_regular_file(path, yaml::bytes_max);  // parse() refuses a longer one
    if (text) return load_text(*text, path);
    return one_fault(path, text.error() + "; expected a policy file");
  } catch (const std::exception& e) {
    return one_fault(path, std::string("can't be read: ") + e.what());
  }
}

}  // namespace headgate::policy
