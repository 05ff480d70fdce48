#include "headgate/policy/file/read_match.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/lint.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/host.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using yaml::Kind;
using yaml::Node;

constexpr std::string_view condition_words =
    "path, exact-path, method, host, header, address, has or not";

// Returns the values of a key: one, or a list of at least one.
std::vector<const Node*> some(const Node& node, std::string_view name, Faults& faults) {
  std::vector<const Node*> items = one_or_list(node);
  if (items.empty()) {
    faults.add(node.at, std::string(name) +
                            " is an empty list, which no request matches; expected an entry, or "
                            "no such key");
  }
  return items;
}

// Returns the text of a `path` or `exact-path`, as `name` says.
std::optional<std::string_view> read_path(const Node& node, std::string_view name, Faults& faults) {
  const auto text = read_text(node, name, "a path, with '*' for any characters", faults);
  if (!text) return std::nullopt;
  const std::string subject = std::string(name) + ' ' + in_quotes(*text);
  if (!text->starts_with('/') && !text->starts_with('*')) {
    faults.add(node.at, subject + " matches no path; expected '/' or '*' first");
    return std::nullopt;
  }
  if (text->find('?') != std::string_view::npos) {
    faults.add(node.at, subject +
                            " has a '?', but paths are matched without their query; expected "
                            "the path alone");
    return std::nullopt;
  }
  return text;
}

void read_paths(const Node& node, Effect effect, std::vector<Condition::Path>& paths,
                Faults& faults) {
  for (const Node* item : some(node, "path", faults)) {
    const auto text = read_path(*item, "path", faults);
    if (!text) continue;
    if (text->find(';') != std::string_view::npos) {
      faults.add(item->at,
                 "path " + in_quotes(*text) +
                     " has a ';', but paths are matched without their parameters; expected "
                     "the path alone, or exact-path");
      continue;
    }
    if (const auto lint = lint_path(*text, effect)) {
      faults.warn(item->at, "path " + in_quotes(*text) + ' ' + *lint);
    }
    paths.emplace_back(*text);
  }
}

void read_exact_paths(const Node& node, Effect effect, std::vector<Condition::Path>& paths,
                      Faults& faults) {
  for (const Node* item : some(node, "exact-path", faults)) {
    const auto text = read_path(*item, "exact-path", faults);
    if (!text) continue;
    if (const auto lint = lint_exact_path(*text, effect)) {
      faults.warn(item->at, "exact-path " + in_quotes(*text) + ' ' + *lint);
    }
    paths.emplace_back(*text);
  }
}

std::vector<std::string> read_methods(const Node& node, Faults& faults) {
  std::vector<std::string> methods;
  for (const Node* item : some(node, "method", faults)) {
    const auto text = read_text(*item, "method", "a method like GET", faults);
    if (!text) continue;
    if (!is_token(*text)) {
      faults.add(item->at,
                 "method " + in_quotes(*text) + " is not a method; expected one like GET");
    } else if (std::any_of(text->begin(), text->end(), [](char c) { return c != upper(c); })) {
      faults.add(item->at, "method " + in_quotes(*text) +
                               " has lower case, and methods are case-sensitive; expected one "
                               "like GET");
    } else {
      if (const auto lint = lint_method(*text)) {
        faults.warn(item->at, "method " + in_quotes(*text) + ' ' + *lint);
      }
      methods.emplace_back(*text);
    }
  }
  return methods;
}

std::vector<Condition::HeaderGlob> read_header_globs(const Node& node, Faults& faults) {
  std::vector<Condition::HeaderGlob> headers;
  if (node.kind != Kind::map || node.children.empty()) {
    faults.add(node.at, "header is " +
                            std::string(node.kind == Kind::map ? "an empty map"
                                                               : yaml::kind_name(node.kind)) +
                            "; expected a map of header names and their values");
    return headers;
  }
  std::map<std::string, Position> seen;
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const Node& name = *node.children[i];
    const Node& value = *node.children[i + 1];
    const auto text = read_text(name, "header", "the name of a header", faults);
    if (!text) continue;
    if (!is_header_name(*text)) {
      faults.add(name.at, "header " + in_quotes(*text) +
                              " is not a header name; expected one like x-plan, of up to 255 "
                              "characters");
      continue;
    }
    if (const auto lint = lint_header(*text)) {
      faults.warn(name.at, "header " + in_quotes(*text) + ' ' + *lint);
    }
    const auto [first, is_new] = seen.emplace(lowered(*text), name.at);
    if (!is_new) {
      faults.add(name.at, "duplicate header " + in_quotes(*text) + "; expected it once, and line " +
                              std::to_string(first->second.line) + " has it already");
    }
    const auto glob = read_text(value, *text, "a value, with '*' for any characters", faults);
    if (glob) headers.emplace_back(first->first, *glob);
  }
  return headers;
}

std::optional<Glob> read_host_glob(const Node& node, Faults& faults) {
  constexpr std::string_view expected = "a host name, with '*' for any characters";
  const auto text = read_text(node, "host", expected, faults);
  if (!text) return std::nullopt;
  if (text->empty()) {
    faults.add(node.at, "host is empty; expected " + std::string(expected));
    return std::nullopt;
  }
  if (const auto lint = lint_host(*text)) {
    faults.warn(node.at, "host " + in_quotes(*text) + ' ' + *lint);
  }
  return Glob(host_pattern(*text));
}

std::vector<AddressBlock> read_addresses(const Node& node, Faults& faults) {
  constexpr std::string_view expected = "an address like 10.0.0.1 or a block like 10.0.0.0/8";
  std::vector<AddressBlock> blocks;
  for (const Node* item : some(node, "address", faults)) {
    const auto text = read_text(*item, "address", expected, faults);
    if (!text) continue;
    if (const auto block = AddressBlock::parse(*text)) {
      blocks.push_back(*block);
    } else {
      faults.add(item->at, "address " + in_quotes(*text) + " is not an address; expected " +
                               std::string(expected));
    }
  }
  return blocks;
}

std::vector<Component> read_present(const Node& node, Faults& faults) {
  constexpr std::string_view expected = "header:NAME, cookie:NAME or query:NAME";
  std::vector<Component> present;
  for (const Node* item : some(node, "has", faults)) {
    const auto text = read_text(*item, "has", expected, faults);
    if (!text) continue;
    const auto component = Component::parse(*text, {});
    if (!component) {
      faults.add(item->at, "has " + in_quotes(*text) + " " + component.error());
    } else if (!component->is_optional()) {
      faults.add(item->at, "has " + in_quotes(*text) +
                               " is a part that every request has; expected " +
                               std::string(expected));
    } else {
      if (const auto lint = lint_component(*component)) {
        faults.warn(item->at, "has " + in_quotes(*text) + ' ' + *lint);
      }
      present.push_back(*component);
    }
  }
  return present;
}

Condition read_condition(const Node& node, std::string_view what, std::span<const Key> keys,
                         Effect effect, Faults& faults) {
  const MapReader map(node, what, keys, faults);
  if (map.valid() && node.children.empty()) {
    faults.add(node.at, std::string(what) + " is empty; expected " + std::string(condition_words));
  }
  Condition condition;
  if (const Node* path = map.find("path")) read_paths(*path, effect, condition.paths, faults);
  if (const Node* path = map.find("exact-path")) {
    read_exact_paths(*path, effect, condition.exact_paths, faults);
  }
  if (const Node* method = map.find("method")) condition.methods = read_methods(*method, faults);
  if (const Node* host = map.find("host")) condition.host = read_host_glob(*host, faults);
  if (const Node* header = map.find("header")) {
    condition.headers = read_header_globs(*header, faults);
  }
  if (const Node* address = map.find("address")) {
    condition.addresses = read_addresses(*address, faults);
  }
  if (const Node* present = map.find("has")) condition.present = read_present(*present, faults);
  if (const Node* refuted = map.find("not")) {
    const Effect opposite = effect == Effect::limits ? Effect::exempts : Effect::limits;
    for (const Node* item : some(*refuted, "not", faults)) {
      condition.refuted.push_back(
          read_condition(*item, "an entry of not", not_keys, opposite, faults));
    }
  }
  return condition;
}

}  // namespace

std::vector<Condition> read_conditions(const Node& node, std::string_view name, Effect effect,
                                       Faults& faults) {
  const std::string what = "an entry of " + std::string(name);
  std::vector<Condition> conditions;
  for (const Node* entry : some(node, name, faults)) {
    conditions.push_back(read_condition(*entry, what, match_keys, effect, faults));
  }
  return conditions;
}

}  // namespace headgate::policy
