#include "headgate/policy/file/map_reader.h"

#include <algorithm>
#include <map>

namespace headgate::policy {
namespace {

std::string hint(std::string_view word, std::span<const std::string_view> known,
                 std::span<const std::string_view> offered) {
  if (const auto near = nearest(word, known)) return "; did you mean " + in_quotes(*near) + "?";
  return "; expected " + alternatives(offered);
}

enum class Names { all, offered };

std::vector<std::string_view> names(std::span<const Key> keys, Names which) {
  std::vector<std::string_view> out;
  for (const Key& key : keys) {
    if (key.available || which == Names::all) out.push_back(key.name);
  }
  return out;
}

// Where a key stands first, and whether that is here.
std::pair<Position, bool> note(std::map<std::string_view, Position>& seen, const yaml::Node& key) {
  const auto [first, is_new] = seen.emplace(key.text, key.at);
  return {first->second, is_new};
}

}  // namespace

MapReader::MapReader(const yaml::Node& node, std::string_view what, std::span<const Key> keys,
                     Faults& faults)
    : what_(what), faults_(faults), at_(node.at) {
  if (node.kind != yaml::Kind::map) {
    faults.add(node.at, std::string(what) + " is " + std::string(yaml::kind_name(node.kind)) +
                            "; expected a map with " + alternatives(names(keys, Names::offered)));
    return;
  }
  valid_ = true;
  std::map<std::string_view, Position> others;  // keys that are no entries
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const yaml::Node& key = *node.children[i];
    if (key.kind != yaml::Kind::scalar) {
      faults.add(key.at, "a key of " + std::string(what) + " is " +
                             std::string(yaml::kind_name(key.kind)) + "; expected " +
                             alternatives(names(keys, Names::offered)));
      continue;
    }
    const auto known =
        std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == key.text; });
    const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& e) { return e.key == key.text; });
    const bool fits = known != keys.end() && known->available;
    const auto [first, is_new] = entry != entries_.end() ? std::pair(entry->at, false)
                                 : fits                  ? std::pair(key.at, true)
                                                         : note(others, key);
    if (!is_new) {
      faults.add(key.at, "duplicate key " + in_quotes(key.text) + "; expected it once, and line " +
                             std::to_string(first.line) + " has it already");
    } else if (fits) {
      entries_.push_back({known->name, key.at, node.children[i + 1]});
    } else if (known != keys.end()) {
      faults.add(key.at, "key " + in_quotes(key.text) + " in " + std::string(what) +
                             " is not available in this version; expected " +
                             alternatives(names(keys, Names::offered)));
    } else {
      faults.add(key.at, "unknown key " + in_quotes(key.text) + " in " + std::string(what) +
                             hint(key.text, names(keys, Names::all), names(keys, Names::offered)));
    }
  }
}

const yaml::Node* MapReader::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.value;
  }
  return nullptr;
}

bool MapReader::has(std::string_view key) const { return find(key) != nullptr; }

const yaml::Node* MapReader::require(std::string_view key, std::string_view expected) const {
  const yaml::Node* node = find(key);
  if (node == nullptr && valid_) {
    faults_.add(at_, std::string(what_) + " has no " + in_quotes(key) + "; expected " +
                         std::string(expected));
  }
  return node;
}

std::optional<std::string_view> read_text(const yaml::Node& node, std::string_view key,
                                          std::string_view expected, Faults& faults) {
  if (node.kind == yaml::Kind::scalar) return node.text;
  faults.add(node.at, std::string(key) + " is " + std::string(yaml::kind_name(node.kind)) +
                          "; expected " + std::string(expected));
  return std::nullopt;
}

std::vector<const yaml::Node*> one_or_list(const yaml::Node& node) {
  if (node.kind == yaml::Kind::list) return node.children;
  return {&node};
}

std::span<const yaml::Node* const> read_list(const yaml::Node& node, std::string_view key,
                                             std::string_view expected, Faults& faults) {
  if (node.kind == yaml::Kind::list) return node.children;
  faults.add(node.at, std::string(key) + " is " + std::string(yaml::kind_name(node.kind)) +
                          "; expected " + std::string(expected));
  return {};
}

void refuse_word(Position at, std::string_view key, std::string_view word,
                 std::span<const std::string_view> offered, std::span<const std::string_view> known,
                 Faults& faults) {
  const std::string subject = std::string(key) + " " + in_quotes(word);
  if (std::find(known.begin(), known.end(), word) != known.end()) {
    faults.add(at,
               subject + " is not available in this version; expected " + alternatives(offered));
  } else {
    faults.add(at, subject + " is unknown" + hint(word, known, offered));
  }
}

}  // namespace headgate::policy
