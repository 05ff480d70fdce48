#include "headgate/policy/policy_set.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "headgate/limit/quota.h"
#include "headgate/policy/envoy/domain.h"
#include "headgate/policy/envoy/limit.h"
#include "headgate/policy/match/lazy_request.h"
#include "headgate/policy/match/rule.h"

namespace headgate::policy {
namespace {

// Where a match lies in the text that is still growing.
struct Extent {
  std::size_t key;
  std::size_t partition;
  std::size_t partition_size;
  std::size_t end;
};

bool applies(const Rule& rule, LazyRequest& subject) {
  return rule.conditions.empty() ||
         std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const Condition& condition) { return condition.holds(subject); });
}

const Grant& granted(const Policy& policy, const Rule& rule, std::string_view parts) {
  if (rule.overrides.empty()) return policy.grants.front();
  const auto found = rule.overrides.find(parts);
  return policy.grants[found == rule.overrides.end() ? 0 : found->second];
}

// Appends the readable text of the parts that end `text`, unless they hold it already: a single
// part is its own.
Extent with_partition(std::size_t key, std::size_t parts, std::size_t last_part, std::size_t count,
                      std::string& text) {
  const std::size_t end = text.size();
  if (count <= 1) return {key, last_part, end - last_part, end};
  // A copy of the view's text would dangle when `text` grows: make room first.
  text.reserve(end + 2 * (end - parts));
  append_readable(std::string_view(text).substr(parts, end - parts), text);
  return {key, end, text.size() - end, end};
}

// Sets a limit that came with a request apart from the configuration's: those keys begin with one
// that is not empty.
void append_own_limit(EnvoyUnit unit, std::string& text) {
  text.push_back('\0');
  text.push_back(static_cast<char>(unit));
}

// Takes out the limits that another one of the request stands for.
void drop_replaced(std::span<Match> matches) {
  const auto replaced = [&](EnvoyLimit::NameId name) {
    return std::any_of(matches.begin(), matches.end(), [&](const Match& match) {
      if (match.policy == nullptr) return false;
      const auto& replaces = match.grant->envoy->replaces;
      return std::find(replaces.begin(), replaces.end(), name) != replaces.end();
    });
  };
  std::bitset<policies_max> dropped;  // a limit that is replaced itself still replaces others
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i].policy == nullptr || matches[i].grant->unlimited) continue;
    const EnvoyLimit::NameId name = matches[i].grant->envoy->name_id;
    dropped.set(i, name != 0 && replaced(name));
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (dropped.test(i)) matches[i] = {};
  }
}

void place(Match& match, const Extent& extent, const std::string& text) {
  const std::string_view all = text;
  match.key = all.substr(extent.key, extent.end - extent.key);
  match.partition = all.substr(extent.partition, extent.partition_size);
}

}  // namespace

PolicySet::PolicySet(Settings settings, std::unique_ptr<const Rules> rules)
    : settings_(std::move(settings)), rules_(std::move(rules)) {}

PolicySet::~PolicySet() = default;

std::span<const Policy> PolicySet::policies() const noexcept { return rules_->policies; }

bool PolicySet::needs_body_bytes() const noexcept {
  for (std::size_t i = 0; i < rules_->rules.size(); ++i) {
    if (rules_->rules[i].cost.source == CostRule::Source::request_bytes &&
        rules_->policies[i].mode != Mode::off) {
      return true;
    }
  }
  return false;
}

std::optional<std::uint64_t> PolicySet::body_bytes_wanted(const Request& request,
                                                          Scratch& scratch) const {
  std::optional<std::uint64_t> wanted;
  for (const Match& match : match(request, scratch)) {
    if (rules_->rules[match.policy->index].cost.source != CostRule::Source::request_bytes) continue;
    const std::uint64_t most =
        match.policy->mode == Mode::enforce ? match.grant->quota.units : limit::Quota::cost_max;
    wanted = std::min(wanted.value_or(most), most);
  }
  return wanted;
}

std::span<const Match> PolicySet::match(const Request& request, Scratch& scratch) const {
  LazyRequest subject(request, settings_.client_address, scratch.host);
  std::string& text = scratch.text;
  text.clear();
  Extent extents[policies_max];
  // Policies often share a key: the first one that matches reads it from the request for all.
  constexpr std::uint8_t none = 255;
  static_assert(policies_max < none);
  std::array<std::uint8_t, policies_max> first_of_group;
  first_of_group.fill(none);
  std::size_t count = 0;
  for (std::size_t i = 0; i < rules_->rules.size(); ++i) {
    const Policy& policy = rules_->policies[i];
    const Rule& rule = rules_->rules[i];
    if (rule.by_name_alone() || policy.mode == Mode::off || !applies(rule, subject)) continue;

    const std::size_t key = text.size();
    text.append(rule.key_head);
    const std::size_t parts = text.size();
    std::size_t part = parts;
    std::uint8_t& first = first_of_group[rule.key_group];
    if (first == none) {
      for (const Component& component : rule.key) {
        part = append_counted(text, [&](std::string& out) { component.append(subject, out); });
      }
    } else {
      const Rule& other = rules_->rules[scratch.matches[first].policy->index];
      const std::size_t from = extents[first].key + other.key_head.size();
      text.append(text, from, extents[first].end - from);
    }
    const Grant& grant = granted(policy, rule, std::string_view(text).substr(parts));
    if (grant.unlimited) {
      text.resize(key);
      continue;
    }
    if (first == none) {
      extents[count] = with_partition(key, parts, part, rule.key.size(), text);
      first = static_cast<std::uint8_t>(count);
    } else {
      extents[count] = {key, extents[first].partition, extents[first].partition_size, text.size()};
    }
    const Cost cost = rule.cost.of(request);
    scratch.matches[count++] = {&policy, &grant, {}, {}, cost.units, cost.defaulted};
  }
  for (std::size_t i = 0; i < count; ++i) place(scratch.matches[i], extents[i], text);
  return std::span<const Match>(scratch.matches).first(count);
}

const Policy* PolicySet::domain(std::string_view name) const noexcept {
  const auto found = rules_->by_name.find(name);
  if (found == rules_->by_name.end()) return nullptr;
  return rules_->rules[found->second].envoy == nullptr ? nullptr : &rules_->policies[found->second];
}

std::span<const Match> PolicySet::match(std::string_view domain,
                                        std::span<const Descriptor> descriptors,
                                        Scratch& scratch) const {
  const Policy* policy = this->domain(domain);
  std::string& text = scratch.text;
  text.clear();
  Extent extents[policies_max];
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const Descriptor& descriptor = descriptors[i];
    Match& match = scratch.matches[i] = {};
    if (policy == nullptr) continue;
    const Rule& rule = rules_->rules[policy->index];
    const std::size_t key = text.size();
    text.append(rule.key_head);
    const Grant* grant = descriptor.grant;
    if (grant != nullptr) {
      append_own_limit(grant->envoy->unit, text);
      append_entries(descriptor.entries, text);
    } else if (const std::uint32_t index = rule.envoy->find(descriptor.entries, text)) {
      grant = &policy->grants[index];
    } else {
      text.resize(key);
      continue;
    }
    const std::size_t end = text.size();
    append_readable(descriptor.entries, text);
    extents[i] = {key, end, text.size() - end, end};
    match = {policy, grant, {}, {}, std::min(descriptor.cost, limit::Quota::cost_max), false};
  }
  const auto matches = std::span(scratch.matches).first(descriptors.size());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i].policy != nullptr) place(matches[i], extents[i], text);
  }
  drop_replaced(matches);
  return matches;
}

Cost PolicySet::late_cost(const Policy& policy, const Response& response) const noexcept {
  if (response.status < policy.refund_on.size() && policy.refund_on.test(response.status)) {
    return {0, false};
  }
  return rules_->rules[policy.index].cost.of_response(response);
}

std::optional<Match> PolicySet::named(std::string_view policy_name, std::string_view partition,
                                      std::uint64_t cost, std::string& text) const {
  const auto found = rules_->by_name.find(policy_name);
  if (found == rules_->by_name.end()) return std::nullopt;
  const Policy& policy = rules_->policies[found->second];
  const Rule& rule = rules_->rules[found->second];

  const std::uint64_t units = std::min(cost, limit::Quota::cost_max);
  text.assign(rule.key_head);
  const std::size_t parts = text.size();
  std::size_t part = parts;
  std::size_t part_count = 0;
  if (rule.boulder != nullptr) {
    part = append_counted(text,
                          [&](std::string& out) { rule.boulder->append_normal(partition, out); });
    const auto id = rule.boulder->override_of(std::string_view(text).substr(part));
    Match match{&policy, &granted(policy, rule, id), {}, {}, units, false};
    place(match, {0, part, text.size() - part, text.size()}, text);
    return match;
  }
  if (rule.envoy != nullptr) {
    std::string buffer;
    const std::vector<DescriptorEntry> entries = split_descriptor(partition, buffer);
    const std::uint32_t grant = rule.envoy->find(entries, text);
    if (grant == 0) append_entries(entries, text);
    const std::size_t end = text.size();
    append_readable(entries, text);
    Match match{&policy, &policy.grants[grant], {}, {}, units, false};
    place(match, {0, end, text.size() - end, end}, text);
    return match;
  }
  if (rule.key.size() >= 2) {
    const std::vector<std::string> given = split_readable(partition, rule.key.size());
    for (; part_count < given.size(); ++part_count) {
      part = append_counted(text, [&](std::string& out) {
        rule.key[part_count].append_given(given[part_count], out);
      });
    }
  }
  const bool is_global = rule.key.empty() && partition.empty();
  if (part_count == 0 && !is_global) {
    part_count = 1;
    part = append_counted(text, [&](std::string& out) {
      if (rule.key.size() == 1) {
        rule.key.front().append_given(partition, out);
      } else {
        out.append(partition);
      }
    });
  }
  const Grant& grant = granted(policy, rule, std::string_view(text).substr(parts));
  Match match{&policy, &grant, {}, {}, units, false};
  place(match, with_partition(0, parts, part, part_count, text), text);
  return match;
}

}  // namespace headgate::policy
