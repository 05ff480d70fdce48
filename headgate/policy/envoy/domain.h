// The limits of one domain of envoyproxy/ratelimit's configuration, and which of them a descriptor
// falls under.
//
// A descriptor is a list of entries, each a key and a value, and a limit has a place in a tree of
// such lists. At each level the exact value is looked up first, then the key's patterns in the
// order of the file, then the key alone; what was chosen is never taken back. A limit applies where
// the descriptor ends. Keys and values are told apart: unlike there, ("a_b", "c") and ("a", "b_c")
// are two.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/policy/envoy/limit.h"
#include "headgate/policy/match/glob.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

// Built once; find() is thread-safe.
class EnvoyDomain {
 public:
  using Node = std::uint32_t;  // a place in the tree
  static constexpr Node root = 0;

  EnvoyDomain() : nodes_(1) {}

  // The place of this key and value below another place; std::nullopt if it is taken. An empty
  // value: the key alone. A value with '*' is a pattern.
  [[nodiscard]] std::optional<Node> add(Node parent, std::string_view key, std::string_view value);

  // All values that this pattern matches are counted as one.
  void share(Node pattern) { nodes_[pattern].shares = true; }

  // What descriptors that end here are granted: the index of a grant of the domain's policy.
  void grant(Node node, std::uint32_t grant) { nodes_[node].grant = grant; }

  // Keeps a limit at an address that does not change.
  EnvoyLimit& keep(EnvoyLimit limit) { return limits_.emplace_back(std::move(limit)); }

  // The grant for a descriptor, 0 if there is none; then nothing was appended. Otherwise appends to
  // `parts` what tells its count from others: keys and values, length-prefixed.
  [[nodiscard]] std::uint32_t find(std::span<const DescriptorEntry> descriptor,
                                   std::string& parts) const;

 private:
  struct Pattern {
    Glob glob;
    Node node;
  };
  struct Branch {
    std::optional<Node> alone;
    TextMap<Node> exact;
    std::vector<Pattern> patterns;
  };
  struct Level {
    TextMap<Branch> keys;
    std::uint32_t grant = 0;
    bool shares = false;
    std::string pattern;  // of a pattern's place: its text
  };

  [[nodiscard]] std::optional<Node> step(Node from, const DescriptorEntry& entry) const;

  std::deque<Level> nodes_;
  std::deque<EnvoyLimit> limits_;
};

// Appends keys and values, length-prefixed, as find() does.
void append_entries(std::span<const DescriptorEntry> descriptor, std::string& parts);

// "key=value,key=value", with '\' before a '\' or ',', and before a '=' in a key.
void append_readable(std::span<const DescriptorEntry> descriptor, std::string& out);

// The entries of such a text; one without '=' has an empty value. They point into `buffer`.
[[nodiscard]] std::vector<DescriptorEntry> split_descriptor(std::string_view text,
                                                            std::string& buffer);

}  // namespace headgate::policy
