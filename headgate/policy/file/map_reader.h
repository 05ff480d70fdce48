// Typed access to the nodes of a policy file. Each function adds a fault for a node that does not
// fit, with what was expected, so that the caller can continue and find the next fault.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/file/yaml.h"

namespace headgate::policy {

// The names of policies and units. 64 characters keep the fields of several policies in one short
// header line, and a String of RFC 9651 can hold printable ASCII only.
inline constexpr std::size_t name_max = 64;
inline constexpr std::string_view name_words = "1 to 64 printable ASCII characters";
[[nodiscard]] bool is_name(std::string_view text) noexcept;

// A key that a map may have.
struct Key {
  std::string_view name;
  bool available = true;  // false: known, but not in this version
};

// Keys that begin so are for people and their anchors.
inline constexpr std::string_view ignored_prefix = "x-";

// A map with checked keys, of which those with ignored_prefix are passed over. Faults are: unknown
// keys (with the most similar known one), duplicates, and keys that this version does not offer.
class MapReader {
 public:
  // `what` names the map in faults, for example "a policy". A node that is not a map adds a fault
  // and is then read as an empty map.
  MapReader(const yaml::Node& node, std::string_view what, std::span<const Key> keys,
            Faults& faults);

  // Returns the value, or nullptr if the key is absent.
  [[nodiscard]] const yaml::Node* find(std::string_view key) const;

  // Whether the map has the key at all.
  [[nodiscard]] bool has(std::string_view key) const;

  // The same as find(), but adds a fault at the map's beginning if the key is absent.
  [[nodiscard]] const yaml::Node* require(std::string_view key, std::string_view expected) const;

  // Whether the node is a map. If not, its fault has been added.
  [[nodiscard]] bool valid() const noexcept { return valid_; }
  [[nodiscard]] Position at() const noexcept { return at_; }

 private:
  struct Entry {
    std::string_view key;
    Position at;  // of the key
    const yaml::Node* value;
  };
  using Positions = std::map<std::string_view, Position>;

  // Returns the position of an equal key before this one. `fits`: this key is known and offered.
  // `refused` holds the first position of each key that is not, and gets this one.
  [[nodiscard]] std::optional<Position> earlier(const yaml::Node& key, bool fits,
                                                Positions& refused) const;
  // Adds the fault for a key that is not known or not offered.
  void refuse(const yaml::Node& key, bool is_known, std::span<const Key> keys);

  std::string_view what_;
  Faults& faults_;
  Position at_;
  bool valid_ = false;
  std::vector<Entry> entries_;  // known keys, each once
};

// Returns the text of a single value; otherwise adds a fault.
[[nodiscard]] std::optional<std::string_view> read_text(const yaml::Node& node,
                                                        std::string_view key,
                                                        std::string_view expected, Faults& faults);

// Returns a single value that names a file; otherwise adds a fault.
[[nodiscard]] std::optional<std::string_view> read_path(const yaml::Node& node,
                                                        std::string_view key,
                                                        std::string_view expected, Faults& faults);

// Returns the items of a list. Any other node counts as a list of one.
[[nodiscard]] std::vector<const yaml::Node*> one_or_list(const yaml::Node& node);

// Returns the items of a list; otherwise adds a fault and returns none.
[[nodiscard]] std::span<const yaml::Node* const> read_list(const yaml::Node& node,
                                                           std::string_view key,
                                                           std::string_view expected,
                                                           Faults& faults);

// Parses a single value. The error of `parse` completes the sentence "KEY 'VALUE' ...".
template <class T>
[[nodiscard]] std::optional<T> read_value(
    const yaml::Node& node, std::string_view key, std::string_view expected,
    const std::function<Result<T, std::string>(std::string_view)>& parse, Faults& faults) {
  const auto text = read_text(node, key, expected, faults);
  if (!text) return std::nullopt;
  auto value = parse(*text);
  if (value) return *std::move(value);
  faults.add(node.at, std::string(key) + " " + in_quotes(*text) + " " + value.error());
  return std::nullopt;
}

// One of the words that a value may be.
template <class T>
struct Choice {
  std::string_view word;
  std::optional<T> value;  // std::nullopt: the word is known, but this version does not offer it
};

// Adds the fault for a word that is none of `offered`. `known` also has the words that this version
// does not offer.
void refuse_word(Position at, std::string_view key, std::string_view word,
                 std::span<const std::string_view> offered, std::span<const std::string_view> known,
                 Faults& faults);

// Returns the value of the word that the node holds; otherwise adds a fault.
template <class T>
[[nodiscard]] std::optional<T> read_choice(const yaml::Node& node, std::string_view key,
                                           std::span<const Choice<T>> choices, Faults& faults) {
  std::vector<std::string_view> known;
  std::vector<std::string_view> offered;
  for (const Choice<T>& choice : choices) {
    known.push_back(choice.word);
    if (choice.value) offered.push_back(choice.word);
  }
  const auto text = read_text(node, key, alternatives(offered), faults);
  if (!text) return std::nullopt;
  for (const Choice<T>& choice : choices) {
    if (choice.word == *text && choice.value) return choice.value;
  }
  refuse_word(node.at, key, *text, offered, known, faults);
  return std::nullopt;
}

}  // namespace headgate::policy
