#include "headgate/policy/file/load.h"

#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "headgate/base/regular_file.h"
#include "headgate/policy/boulder/read_boulder.h"
#include "headgate/policy/envoy/read_envoy.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/flow_text.h"
#include "headgate/policy/file/include.h"
#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/file/read_match.h"
#include "headgate/policy/file/read_policy.h"
#include "headgate/policy/file/read_settings.h"
#include "headgate/policy/file/read_sharing.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/policy/one_state.h"
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

// The log adds lines to its file, whatever that is.
void resolve_path_of_log(const yaml::Node& node, const std::string& policy_file, Settings& settings,
                         Faults& faults) {
  std::string& log = settings.decisions->file;
  if (log == "-") return;
  log = resolve_path(policy_file, log);
  const std::pair<std::string_view, const std::string&> others[] = {
      {"the table", settings.table.file}, {"the policies", policy_file}};
  for (const auto& [whose, other] : others) {
    if (!log.empty() && is_same_file(log, other)) {
      faults.add(node.at, "decisions has the file of " + std::string(whose) + ", " +
                              in_quotes(log) + "; expected a file of its own");
    }
  }
}

// Completes the policies with what depends on all of their grants, and with what they need if
// machines share them.
void complete(const Settings& settings, PolicySet::Rules& rules) {
  for (Policy& policy : rules.policies) {
    const Rule& rule = rules.rules[policy.index];
    if (rule.by_name_alone()) policy.sharing = default_sharing(settings);
    agree_on_one_state(policy, rule);
    for (Grant& grant : policy.grants) grant.shared = shared_of(policy, grant);
  }
}

// Indexes the policies that requests match.
void make_index(PolicySet::Rules& rules) {
  // To look at so few takes less time than to look them up (`./dev bench`, steps_bench).
  constexpr std::size_t few = 4;
  const bool all = rules.rules.size() <= few;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const Rule& rule = rules.rules[i];
    if (rule.by_name_alone()) continue;
    rules.index.add(static_cast<std::uint32_t>(i),
                    all ? std::vector<Condition>() : rule.conditions);
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
  void take(Faults& own) {
    for (Fault& fault : own.take()) faults.push_back(std::move(fault));
    for (Fault& warning : own.take_warnings()) warnings.push_back(std::move(warning));
  }

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
  others.take(own);
}

// An included file. Its nodes are needed until all policies have been read.
struct Included {
  explicit Included(std::string path) : faults(std::move(path)) {}

  Faults faults;
  std::optional<yaml::Document> document;
};

// Reads the policies of the file, and then those of the files that it includes.
std::unique_ptr<PolicySet::Rules> read_policies(const MapReader& file, const std::string& name,
                                                const Settings& settings,
                                                std::vector<Condition> allow, Faults& faults,
                                                Others& others) {
  constexpr std::string_view expected = "a list of policies";
  const bool has_other = file.has("include") || file.has("boulder") || file.has("envoy");
  PolicyReader reader(settings, std::move(allow));
  const yaml::Node* policies =
      has_other ? file.find("policies") : file.require("policies", expected);
  if (policies != nullptr) reader.read(*policies, faults);
  std::deque<Included> all;
  if (const yaml::Node* include = file.find("include")) {
    for (const std::string& path : included_files(*include, name, faults)) {
      const auto text = read_regular_file(path, yaml::bytes_max);
      if (!text) {
        faults.add(include->at, "include " + in_quotes(path) + ' ' + text.error() +
                                    "; expected a file with policies");
        continue;
      }
      Included& one = all.emplace_back(path);
      one.document = yaml::Document::parse(*text, "'policies:'", one.faults);
      if (!one.document) continue;
      const MapReader map(one.document->root(), "an included file", included_keys, one.faults);
      if (map.has("version")) read_version(map, one.faults);
      if (const yaml::Node* list = map.require("policies", expected)) {
        reader.read(*list, one.faults);
      }
    }
  }
  auto rules = reader.finish();
  for (Included& one : all) others.take(one.faults);
  return rules;
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
  if (const yaml::Node* node = file.find("decisions"); settings.decisions) {
    resolve_path_of_log(*node, name, settings, faults);
  }
  if (settings.redis) resolve_paths(name, *settings.redis);
  std::vector<Condition> allow;
  if (const yaml::Node* node = file.find("allow")) {
    allow = read_conditions(*node, "allow", Effect::exempts, faults);
    settings.allow_text = flow_text(*node);
  }
  if (!settings.count_preflights) allow.push_back(preflight());
  auto rules = read_policies(file, name, settings, std::move(allow), faults, others);
  read_boulder(file, name, *rules, faults, others);
  read_envoy(file, name, *rules, faults, others);
  if (!faults.empty() || !others.faults.empty()) return nullptr;
  make_index(*rules);
  if (rules->index.most() > policies_per_request_max) {
    faults.warn({}, std::to_string(rules->index.most()) +
                        " policies may apply to one request; expected at most " +
                        std::to_string(policies_per_request_max) +
                        ": a request that has more is denied");
  }
  rules->warnings = faults.take_warnings();
  std::move(others.warnings.begin(), others.warnings.end(), std::back_inserter(rules->warnings));
  complete(settings, *rules);
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
