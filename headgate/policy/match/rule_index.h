// Finds the policies of a file that may apply to a request, without a look at all the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/policy/match/condition.h"
#include "headgate/policy/match/lazy_request.h"

namespace headgate::policy {

// Working memory of RuleIndex::find(). Reuse it for the next request: it allocates only while texts
// grow longer than any before.
struct FoundRules {
  std::vector<std::uint32_t> indices;
  std::string text;
};

// Policies by what their conditions ask for: a host name, a method, and the whole segments that a
// path begins with. A policy without any of these is found for every request.
//
// Immutable after the last add(); find() is thread-safe.
class RuleIndex {
 public:
  // Adds a policy under its index, which is larger than those before. It applies to requests that
  // meet one of the conditions, or to all if there are none.
  void add(std::uint32_t index, const std::vector<Condition>& conditions);

  // Returns the indices, ascending, of all policies of which a condition may hold
  // (Effect::limits), and perhaps of others. Valid until `found` is used again.
  [[nodiscard]] std::span<const std::uint32_t> find(LazyRequest& request, FoundRules& found) const;

  // Returns a number of policies that find() does not exceed, in how many ways ever the path of a
  // request is read, unless its host is malformed.
  [[nodiscard]] std::size_t most() const;

 private:
  using Indices = std::vector<std::uint32_t>;
  // The conditions that name both, one, or none of host and method.
  struct Group {
    bool by_host = false;
    bool by_method = false;
    TextMap<Indices> paths;         // by head() and then a folded path: whole segments
    std::size_t longest = 0;        // path among them
    std::size_t segments_most = 0;  // in a path among them
  };

  void add_condition(std::uint32_t index, const Condition& condition);
  static void append_head(const Group& group, std::string_view host, std::string_view method,
                          std::string& out);
  static void find_in(const Group& group, LazyRequest& request, FoundRules& found);
  [[nodiscard]] static std::size_t most_in(const Group& group);

  std::array<Group, 4> groups_{
      {{false, false, {}}, {false, true, {}}, {true, false, {}}, {true, true, {}}}};
  Indices everywhere_;  // found for every request
};

}  // namespace headgate::policy
