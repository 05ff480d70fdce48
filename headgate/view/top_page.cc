#include "headgate/view/top_page.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "headgate/base/json_members.h"
#include "headgate/base/json_text.h"
#include "headgate/base/whole_number.h"
#include "headgate/view/problem_page.h"

namespace headgate::view {
namespace {

// Adds up the entries of several workers for the same partition, and sorts.
void merge(std::vector<Partition>& list, std::size_t length) {
  using Name = std::pair<std::string_view, std::string_view>;
  std::map<Name, std::size_t> index_of;
  std::vector<Partition> merged;
  merged.reserve(list.size());  // so that the names in index_of, which are views, stay valid
  for (Partition& partition : list) {
    const auto found = index_of.find(Name(partition.policy, partition.key));
    if (found == index_of.end()) {
      merged.push_back(std::move(partition));
      index_of.emplace(Name(merged.back().policy, merged.back().key), merged.size() - 1);
      continue;
    }
    Partition& sum = merged[found->second];
    sum.at_least += partition.at_least;
    sum.at_most += partition.at_most;
    sum.also += partition.also;
  }
  index_of.clear();
  const auto heavier = [](const Partition& a, const Partition& b) {
    return std::tie(b.at_least, a.policy, a.key) < std::tie(a.at_least, b.policy, b.key);
  };
  std::sort(merged.begin(), merged.end(), heavier);
  if (merged.size() > length) merged.resize(length);
  list = std::move(merged);
}

void append_number(std::string& out, double value) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 3).ptr;
  out.append(digits, end);
}

void member(std::string& out, std::string_view name, double value) {
  append_name(out, name);
  append_number(out, value);
}

void append_list(std::string& out, std::string_view name, std::string_view also,
                 const std::vector<Partition>& list) {
  append_name(out, name);
  out.push_back('[');
  for (const Partition& partition : list) {
    if (&partition != list.data()) out.push_back(',');
    out.append(R"({"policy":)");
    append_json(out, std::string_view(partition.policy));
    out.append(R"(,"key":)");
    append_json(out, std::string_view(partition.key));
    member(out, "per_second", partition.at_least);
    member(out, "at_most_per_second", partition.at_most);
    member(out, also, partition.also);
    if (!partition.client.empty()) append_member(out, "client", std::string_view(partition.client));
    out.push_back('}');
  }
  out.push_back(']');
}

}  // namespace

Result<std::size_t, std::string> parse_top_length(std::string_view query) {
  if (query.empty()) return top_length_default;
  const auto length = whole_number<std::size_t>(query.starts_with("n=") ? query.substr(2) : "");
  if (!length || *length < 1 || *length > top_length_max) {
    return Failure<std::string>("expected the query n=N, with N from 1 to " +
                                std::to_string(top_length_max));
  }
  return *length;
}

Page top_page(std::string_view query, Recent recent, const Labels& in_force,
              std::optional<bool> redis_up) {
  const auto length = parse_top_length(query);
  if (!length) return problem_page(400, length.error());
  merge(recent.busiest, *length);
  merge(recent.most_denied, *length);

  Page page{"application/json", {}};
  std::string& out = page.body;
  out.append(R"({"keys":)");
  append_json(out, std::string_view(in_force.plain() ? "plain" : "opaque"));
  member(out, "requests_per_second", recent.requests);
  member(out, "denied_per_second", recent.denied);
  member(out, "shadow_denied_per_second", recent.shadow_denied);
  if (redis_up) {
    out.append(R"(,"redis":{"up":)");
    append_json(out, *redis_up);
    member(out, "decisions_without_it_per_second", recent.outage);
    out.push_back('}');
  }
  append_list(out, "busiest", "units_per_second", recent.busiest);
  append_list(out, "most_denied", "shadow_per_second", recent.most_denied);
  out.append("}\n");
  return page;
}

}  // namespace headgate::view
