#include "headgate/server/http/top.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "headgate/base/json_text.h"
#include "headgate/base/whole_number.h"
#include "headgate/server/http/json_members.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

// Adds up the entries of several workers for the same partition, and sorts.
void merge(std::vector<DecisionStats::Partition>& list, std::size_t length) {
  using Name = std::pair<std::string_view, std::string_view>;
  std::map<Name, std::size_t> index_of;
  std::vector<DecisionStats::Partition> merged;
  merged.reserve(list.size());  // so that the names in index_of, which are views, stay valid
  for (DecisionStats::Partition& partition : list) {
    const auto found = index_of.find(Name(partition.policy, partition.key));
    if (found == index_of.end()) {
      merged.push_back(std::move(partition));
      index_of.emplace(Name(merged.back().policy, merged.back().key), merged.size() - 1);
      continue;
    }
    DecisionStats::Partition& sum = merged[found->second];
    sum.at_least += partition.at_least;
    sum.at_most += partition.at_most;
    sum.also += partition.also;
  }
  index_of.clear();
  const auto heavier = [](const DecisionStats::Partition& a, const DecisionStats::Partition& b) {
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
                 const std::vector<DecisionStats::Partition>& list) {
  append_name(out, name);
  out.push_back('[');
  for (const DecisionStats::Partition& partition : list) {
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

Content fault(const std::string& detail) {
  Content page{"application/problem+json", R"({"type":"about:blank","title":"Bad Request",)", 400};
  page.body.append(R"("status":400,"detail":)");
  append_json(page.body, std::string_view(detail));
  page.body.append("}\n");
  return page;
}

}  // namespace

DecisionStats::Recent top(const Engine& engine, Instant now, const PolicySnapshot& in_force,
                          std::size_t length) {
  DecisionStats::Recent sum;
  const auto append = [](std::vector<DecisionStats::Partition>& to,
                         std::vector<DecisionStats::Partition>& from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  };
  engine.for_each_worker([&](const WorkerContext& worker) {
    DecisionStats::Recent recent = worker.stats().recent(now, in_force);
    sum.requests += recent.requests;
    sum.denied += recent.denied;
    sum.shadow_denied += recent.shadow_denied;
    sum.outage += recent.outage;
    append(sum.busiest, recent.busiest);
    append(sum.most_denied, recent.most_denied);
  });
  merge(sum.busiest, length);
  merge(sum.most_denied, length);
  return sum;
}

Result<std::size_t, std::string> parse_top_length(std::string_view query) {
  if (query.empty()) return top_length_default;
  const auto length = whole_number<std::size_t>(query.starts_with("n=") ? query.substr(2) : "");
  if (!length || *length < 1 || *length > top_length_max) {
    return Failure<std::string>("expected the query n=N, with N from 1 to " +
                                std::to_string(top_length_max));
  }
  return *length;
}

Content top_page(Engine& engine, WorkerContext& worker, std::string_view query) {
  const auto length = parse_top_length(query);
  if (!length) return fault(length.error());
  const PolicySnapshot& in_force = worker.in_force();
  const DecisionStats::Recent recent = top(engine, worker.now(), in_force, *length);

  Content page{"application/json", {}};
  std::string& out = page.body;
  const bool plain = in_force.policies().settings().partition_key == policy::PartitionKey::plain;
  out.append(R"({"keys":)");
  append_json(out, std::string_view(plain ? "plain" : "opaque"));
  member(out, "decisions_per_second", recent.requests);
  member(out, "denied_per_second", recent.denied);
  member(out, "shadow_denied_per_second", recent.shadow_denied);
  if (redis::PolicyStore* const redis = engine.redis()) {
    out.append(R"(,"redis":{"up":)");
    out.append(redis->status().up ? "true" : "false");
    member(out, "decisions_without_it_per_second", recent.outage);
    out.push_back('}');
  }
  append_list(out, "busiest", "units_per_second", recent.busiest);
  append_list(out, "most_denied", "shadow_per_second", recent.most_denied);
  out.append("}\n");
  return page;
}

}  // namespace headgate::server
