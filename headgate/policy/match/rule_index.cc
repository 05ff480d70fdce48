#include "headgate/policy/match/rule_index.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "headgate/base/ascii.h"

namespace headgate::policy {
namespace {

// Between the parts of a head. Neither host names nor methods have it.
constexpr char separator = '\n';

// Returns the whole segments that every path begins with which this pattern matches.
std::string_view whole_segments(const Glob& folded) noexcept {
  const std::string_view head = folded.head();
  if (folded.is_literal()) return head;
  const std::size_t slash = head.rfind('/');
  return head.substr(0, slash == std::string_view::npos ? 0 : slash);
}

// The paths of which a request's path has one, or begins with one and a slash, if the condition
// holds. One of them is empty if the condition says nothing about where a path begins.
std::vector<std::string> paths_of(const Condition& condition) {
  std::vector<std::string> paths;
  for (const Condition::Path& pattern : condition.paths) {
    paths.emplace_back(whole_segments(pattern.routed.glob()));
  }
  if (paths.empty()) {
    for (const Condition::Path& pattern : condition.exact_paths) {
      // The ".." of a path may be among what the '*' stands for, so that folding changes its begin.
      const bool is_one = pattern.exact.is_literal();
      paths.emplace_back(is_one ? whole_segments(pattern.routed.glob()) : std::string_view());
    }
  }
  if (paths.empty() || std::find(paths.begin(), paths.end(), "") != paths.end()) return {""};
  return paths;
}

std::size_t segments(std::string_view path) noexcept {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

}  // namespace

void RuleIndex::add(std::uint32_t index, const std::vector<Condition>& conditions) {
  if (conditions.empty()) everywhere_.push_back(index);
  for (const Condition& condition : conditions) add_condition(index, condition);
}

void RuleIndex::add_condition(std::uint32_t index, const Condition& condition) {
  const auto add_to = [&](Indices& indices) {
    if (indices.empty() || indices.back() != index) indices.push_back(index);
  };
  const bool by_host = condition.host && condition.host->is_literal();
  const std::vector<std::string> paths = paths_of(condition);
  if (!by_host && condition.methods.empty() && paths.front().empty()) return add_to(everywhere_);
  std::vector<std::string> methods = condition.methods;
  Group& group = groups_[(by_host ? 2U : 0U) + (methods.empty() ? 0U : 1U)];
  if (methods.empty()) methods.emplace_back();
  for (const std::string& method : methods) {
    for (const std::string& path : paths) {
      std::string key;
      append_head(group, by_host ? condition.host->head() : std::string_view(), method, key);
      add_to(group.paths[key + path]);
      group.longest = std::max(group.longest, path.size());
      group.segments_most = std::max(group.segments_most, segments(path));
    }
  }
}

void RuleIndex::append_head(const Group& group, std::string_view host, std::string_view method,
                            std::string& out) {
  if (group.by_host) out.append(host).push_back(separator);
  if (!group.by_method) return;
  std::transform(method.begin(), method.end(), std::back_inserter(out), upper);
  out.push_back(separator);
}

void RuleIndex::find_in(const Group& group, LazyRequest& request, FoundRules& found) {
  const auto look_up = [&](std::string_view key) {
    const auto known = group.paths.find(key);
    if (known == group.paths.end()) return;
    found.indices.insert(found.indices.end(), known->second.begin(), known->second.end());
  };
  if (group.by_host && request.may_be_any_host()) {
    for (const auto& [key, indices] : group.paths) {
      found.indices.insert(found.indices.end(), indices.begin(), indices.end());
    }
    return;
  }
  std::string& text = found.text;
  text.clear();
  append_head(group, group.by_host ? request.host() : std::string_view(), request.raw().method,
              text);
  const std::size_t head = text.size();
  look_up(text);
  if (group.longest == 0) return;
  // Neither a long path nor one of many segments takes more steps than the policies' own paths.
  for (const std::string_view reading : request.path().readings()) {
    text.resize(head);
    text.append(reading.substr(0, group.longest + 1));
    const std::string_view all = text;
    std::size_t end = head;
    for (std::size_t segment = 0; segment <= group.segments_most && end < all.size(); ++segment) {
      end = std::min(all.find('/', end + 1), all.size());
      if (end - head <= group.longest) look_up(all.substr(0, end));
    }
  }
}

std::span<const std::uint32_t> RuleIndex::find(LazyRequest& request, FoundRules& found) const {
  found.indices.clear();
  for (const Group& group : groups_) {
    if (!group.paths.empty()) find_in(group, request, found);
  }
  if (found.indices.empty()) return everywhere_;
  // Several paths may lead to one policy.
  std::sort(found.indices.begin(), found.indices.end());
  found.indices.erase(std::unique(found.indices.begin(), found.indices.end()), found.indices.end());
  const auto middle = static_cast<std::ptrdiff_t>(found.indices.size());
  found.indices.insert(found.indices.end(), everywhere_.begin(), everywhere_.end());
  std::inplace_merge(found.indices.begin(), found.indices.begin() + middle, found.indices.end());
  found.indices.erase(std::unique(found.indices.begin(), found.indices.end()), found.indices.end());
  return found.indices;
}

std::size_t RuleIndex::most_in(const Group& group) {
  // The paths of each head are a tree, and a reading of a path has all policies on the way from the
  // root to a leaf. The ways that together have most are found like this: at each path, the way
  // with most below it goes on, and the others end.
  struct Ways {
    std::vector<std::size_t> ended;  // the policies that each has alone
    Indices policies;                // all, also twice
  };
  std::vector<std::string_view> keys;
  for (const auto& [key, indices] : group.paths) keys.push_back(key);
  // What lies below a path is longer than that.
  std::ranges::sort(keys, std::greater(), &std::string_view::size);
  TextMap<std::size_t> below;  // what the best way has below a path
  TextMap<Ways> heads;
  for (const std::string_view key : keys) {
    const Indices& indices = group.paths.find(key)->second;
    const std::size_t head = key.rfind(separator) + 1;  // 0 if there is none
    Ways& ways = heads[std::string(key.substr(0, head))];
    ways.policies.insert(ways.policies.end(), indices.begin(), indices.end());
    std::size_t way = indices.size() + below[std::string(key)];
    std::size_t end = key.size();
    while (end > head) {
      const std::size_t slash = key.rfind('/', end - 1);
      end = slash == std::string::npos || slash < head ? head : slash;
      const std::string_view parent = key.substr(0, end);
      if (!group.paths.contains(parent)) continue;
      std::size_t& best = below[std::string(parent)];
      if (way > best) std::swap(way, best);
      break;
    }
    ways.ended.push_back(way);
  }
  std::size_t most = 0;
  for (auto& [head, ways] : heads) {
    std::ranges::sort(ways.ended, std::greater());
    const std::size_t read = std::min(ways.ended.size(), FoldedPath::readings_max);
    const std::size_t sum = std::accumulate(
        ways.ended.begin(), ways.ended.begin() + static_cast<std::ptrdiff_t>(read), std::size_t{0});
    std::ranges::sort(ways.policies);
    const auto once = std::unique(ways.policies.begin(), ways.policies.end());
    const auto different = static_cast<std::size_t>(once - ways.policies.begin());
    most = std::max(most, std::min(sum, different));
  }
  return most;
}

std::size_t RuleIndex::most() const {
  std::size_t all = everywhere_.size();
  for (const Group& group : groups_) all += most_in(group);
  return all;
}

}  // namespace headgate::policy
