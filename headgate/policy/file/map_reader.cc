#include "headgate/policy/file/map_reader.h"

#include <algorithm>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

// The end of a fault about an unknown word: the most similar known word, or what was expected.
std::string hint(std::string_view word, std::span<const std::string_view> known,
                 std::span<const std::string_view> offered) {
  if (const auto near = nearest(word, known)) return "; did you mean " + in_quotes(*near) + "?";
  return "; expected " + alternatives(offered);
}

// Returns the map that a key belongs to which is unknown in a map with `keys`, if both are among
// those on lines of their own.
std::optional<std::string_view> home_of(std::string_view key, std::span<const Key> keys) {
  const auto has_lines =
      std::any_of(std::begin(key_homes), std::end(key_homes), [&](const KeyHome& home) {
        return home.keys.data() == keys.data() && home.keys.size() == keys.size();
      });
  if (!has_lines) return std::nullopt;
  for (const KeyHome& home : key_homes) {
    for (const Key& known : home.keys) {
      if (known.name == key) return home.what;
    }
  }
  return std::nullopt;
}

// Whether to list every known key, or only those that this version offers.
enum class Names { all, offered };

std::vector<std::string_view> names(std::span<const Key> keys, Names which) {
  std::vector<std::string_view> out;
  for (const Key& key : keys) {
    if (key.available || which == Names::all) out.push_back(key.name);
  }
  return out;
}

}  // namespace

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= name_max && is_printable(text);
}

MapReader::MapReader(const yaml::Node& node, std::string_view what, std::span<const Key> keys,
                     Faults& faults)
    : what_(what), faults_(faults), at_(node.at) {
  if (node.kind != yaml::Kind::map) {
    faults.add(node.at, std::string(what) + " is " + std::string(yaml::kind_name(node.kind)) +
                            "; expected a map with " + alternatives(names(keys, Names::offered)));
    return;
  }
  valid_ = true;
  Positions refused;
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const yaml::Node& key = *node.children[i];
    if (key.kind != yaml::Kind::scalar) {
      faults.add(key.at, "a key of " + std::string(what) + " is " +
                             std::string(yaml::kind_name(key.kind)) + "; expected " +
                             alternatives(names(keys, Names::offered)));
      continue;
    }
    if (key.text.starts_with(ignored_prefix)) continue;
    const auto known =
        std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == key.text; });
    const bool is_known = known != keys.end();
    const bool fits = is_known && known->available;
    if (const auto first = earlier(key, fits, refused)) {
      faults.add(key.at, "duplicate key " + in_quotes(key.text) + "; expected it once, and line " +
                             std::to_string(first->line) + " has it already");
    } else if (fits) {
      entries_.push_back({known->name, key.at, node.children[i + 1]});
    } else {
      refuse(key, is_known, keys);
    }
  }
}

std::optional<Position> MapReader::earlier(const yaml::Node& key, bool fits,
                                           Positions& refused) const {
  if (fits) {
    for (const Entry& entry : entries_) {
      if (entry.key == key.text) return entry.at;
    }
    return std::nullopt;
  }
  // A map, since a file may have any number of unknown keys.
  const auto [first, is_new] = refused.emplace(key.text, key.at);
  return is_new ? std::nullopt : std::optional(first->second);
}

void MapReader::refuse(const yaml::Node& key, bool is_known, std::span<const Key> keys) {
  const std::vector<std::string_view> offered = names(keys, Names::offered);
  const std::string where = in_quotes(key.text) + " in " + std::string(what_);
  if (is_known) {
    faults_.add(key.at, "key " + where + " is not available in this version; expected " +
                            alternatives(offered));
  } else if (const auto home = home_of(key.text, keys)) {
    faults_.add(key.at, "unknown key " + where + "; expected it in " + std::string(*home) +
                            ", so look at its indentation");
  } else {
    const std::string end =
        faults_.has_enough() ? "" : hint(key.text, names(keys, Names::all), offered);
    faults_.add(key.at, "unknown key " + where + end);
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

std::optional<std::string_view> read_path(const yaml::Node& node, std::string_view key,
                                          std::string_view expected, Faults& faults) {
  const auto path = read_text(node, key, expected, faults);
  if (!path) return std::nullopt;
  // To the system a path ends at a byte 0: another file than the one that is written here.
  const char* const why = path->empty()                                ? "is empty"
                          : path->find('\0') != std::string_view::npos ? "contains a byte 0"
                                                                       : nullptr;
  if (why == nullptr) return path;
  faults.add(node.at, std::string(key) + ' ' + why + "; expected " + std::string(expected));
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
