// Typed access to the nodes of a policy file. What does not fit becomes a fault that says what was
// expected; the caller goes on and finds the next.
#pragma once

#include <cstdint>
#include <functional>
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

// A key that a map may have.
struct Key {
  std::string_view name;
  bool available = true;  // false: known, but not in this version
};

// A map, its keys checked: unknown ones (with the nearest known), duplicates, and those that this
// version does not offer are faults.
class MapReader {
 public:
  // `what` names the map in faults, as in "a policy". A node that is not a map is a fault, and
  // reads like an empty one.
  MapReader(const yaml::Node& node, std::string_view what, std::span<const Key> keys,
            Faults& faults);

  // The value, or nullptr where the key is absent or its value was refused already.
  [[nodiscard]] const yaml::Node* find(std::string_view key) const;

  // Whether the map has the key at all.
  [[nodiscard]] bool has(std::string_view key) const;

  // The same as find(), and a fault at the map's beginning if the key is absent.
  [[nodiscard]] const yaml::Node* require(std::string_view key, std::string_view expected) const;

  // False where not even a map was found: nothing more to say about it.
  [[nodiscard]] bool valid() const noexcept { return valid_; }
  [[nodiscard]] Position at() const noexcept { return at_; }

 private:
  struct Entry {
    std::string_view key;
    Position at;
    const yaml::Node* value;
  };

  std::string_view what_;
  Faults& faults_;
  Position at_;
  bool valid_ = false;
  std::vector<Entry> entries_;  // known keys, each once
};

// The text of a single value, or a fault.
[[nodiscard]] std::optional<std::string_view> read_text(const yaml::Node& node,
                                                        std::string_view key,
                                                        std::string_view expected, Faults& faults);

// The nodes of a list, or the node itself where a single value stands for a list of one.
[[nodiscard]] std::vector<const yaml::Node*> one_or_list(const yaml::Node& node);

// The items of a list, or a fault and none.
[[nodiscard]] std::span<const yaml::Node* const> read_list(const yaml::Node& node,
                                                           std::string_view key,
                                                           std::string_view expected,
                                                           Faults& faults);

// A single value through `parse`, whose error completes the sentence "KEY 'VALUE' ...".
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

// One of several words.
template <class T>
struct Choice {
  std::string_view word;
  std::optional<T> value;  // absent: known, but not in this version
};

// Faults for a word that is none of `offered`; `known` includes what is not in this version.
void refuse_word(Position at, std::string_view key, std::string_view word,
                 std::span<const std::string_view> offered, std::span<const std::string_view> known,
                 Faults& faults);

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
