// The limits of one domain of envoyproxy/ratelimit's configuration, and the choice of the limit for
// a descriptor.
//
// A descriptor is a list of entries, each with a key and a value. The limits are in a tree with one
// level per entry. At each level the search takes the exact value if there is one, then the key's
// first pattern that matches in the order of the file, then the key without a value. It never goes
// back to try another branch. The limit of the node where the descriptor ends applies.
//
// Unlike envoyproxy/ratelimit, which joins keys and values with '_', this keeps the entries
// ("a_b", "c") and ("a", "b_c") apart.
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
  using Node = std::uint32_t;  // a node of the tree, by its index
  static constexpr Node root = 0;

  EnvoyDomain() : nodes_(1) {}

  // Adds a node for this key and value below `parent`. Returns std::nullopt if there is one
  // already. An empty value stands for the key without a value. A value with '*' is a pattern.
  [[nodiscard]] std::optional<Node> add(Node parent, std::string_view key, std::string_view value);

  // Lets all values that this pattern matches share one count.
  void share(Node pattern) { nodes_[pattern].shares = true; }

  // Sets the grant of descriptors that end at this node: its index in the domain's policy, never 0.
  void grant(Node node, std::uint32_t grant) { nodes_[node].grant = grant; }

  // Stores a limit. The reference stays valid as long as the domain.
  EnvoyLimit& keep(EnvoyLimit limit) { return limits_.emplace_back(std::move(limit)); }

  // Returns the index of the grant for a descriptor, and appends the parts of its store key to
  // `parts`: keys and values, length-prefixed. Returns 0 and appends nothing if no limit applies.
  [[nodiscard]] std::uint32_t find(std::span<const DescriptorEntry> descriptor,
                                   std::string& parts) const;

 private:
  struct Pattern {
    Glob glob;
    Node node;
  };
  // The children of a node that have the same key.
  struct Branch {
    std::optional<Node> alone;  // the key without a value
    TextMap<Node> exact;
    std::vector<Pattern> patterns;
  };
  struct Level {
    TextMap<Branch> keys;
    std::uint32_t grant = 0;  // 0: no limit ends here
    bool shares = false;      // see share()
    std::string pattern;      // the value that the node was added with
  };

  // Returns the child of a node that an entry leads to.
  [[nodiscard]] std::optional<Node> step(Node from, const DescriptorEntry& entry) const;

  std::deque<Level> nodes_;
  std::deque<EnvoyLimit> limits_;
};

// Appends keys and values, length-prefixed, as find() does.
void append_entries(std::span<const DescriptorEntry> descriptor, std::string& parts);

// Appends "key=value,key=value", with a '\' before each '\' and ',', and before each '=' in a key.
void append_readable(std::span<const DescriptorEntry> descriptor, std::string& out);

// Returns the entries of such a text. An entry without '=' has an empty value. The views point into
// `buffer`.
[[nodiscard]] std::vector<DescriptorEntry> split_descriptor(std::string_view text,
                                                            std::string& buffer);

}  // namespace headgate::policy
