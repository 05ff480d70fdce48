#include "headgate/policy/policy_set.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <utility>

#include "headgate/limit/quota.h"
#include "headgate/policy/candidate_share.h"
#include "headgate/policy/envoy/domain.h"
#include "headgate/policy/envoy/limit.h"
#include "headgate/policy/gives_more.h"
#include "headgate/policy/match/counted.h"
#include "headgate/policy/match/lazy_request.h"
#include "headgate/policy/match/rule.h"
#include "headgate/policy/share_states.h"

namespace headgate::policy {
namespace {

bool asks_for_host(const PolicySet::Rules& rules) {
  return std::ranges::any_of(rules.policies, [&](const Policy& policy) {
    return policy.mode == Mode::enforce &&
           std::ranges::any_of(rules.rules[policy.index].conditions, &Condition::asks_for_host);
  });
}

bool applies(const PolicySet::Rules& rules, const Rule& rule, LazyRequest& request) {
  return (rule.conditions.empty() || any_holds(rule.conditions, request, Effect::limits)) &&
         std::none_of(rule.unless.begin(), rule.unless.end(), [&](std::size_t other) {
           return any_holds(rules.rules[other].conditions, request, Effect::exempts);
         });
}

// Returns the override for the smallest block that the address lies in, which is the only part of
// the key, or the policy's own grant.
const Grant& grant_of_block(const Policy& policy, const Rule& rule, std::string_view parts) {
  if (rule.v4_prefixes.empty() && rule.v6_prefixes.empty()) return policy.grants.front();
  const auto partition = AddressBlock::parse(parts.substr(1));  // behind its length
  if (!partition) return policy.grants.front();
  const Address& address = partition->lowest;
  for (const unsigned prefix : address.is_v4() ? rule.v4_prefixes : rule.v6_prefixes) {
    char block[1 + Address::text_max];
    const std::size_t size = address.masked(prefix).write(block + 1, prefix);
    block[0] = static_cast<char>(size);
    const auto found = rule.overrides.find(std::string_view(block, 1 + size));
    if (found != rule.overrides.end()) return policy.grants[found->second.grant];
  }
  return policy.grants.front();
}

struct Grants {
  const Grant* of_key;      // that of its override, for any path; or the policy's own
  const Grant* of_request;  // the same, or the policy's own if the override is of another path
};

// Returns the override for these length-prefixed parts, or the policy's own grant. `path` is the
// path in the key as it was sent.
Grants grants_for(const Policy& policy, const Rule& rule, std::string_view parts,
                  std::string_view path) {
  const Grant* const front = &policy.grants.front();
  if (rule.overrides.empty()) return {front, front};
  const auto found = rule.overrides.find(parts);
  if (found == rule.overrides.end()) {
    const Grant* const of_block = &grant_of_block(policy, rule, parts);
    return {of_block, of_block};
  }
  const Override& own = found->second;
  const Grant* const override = &policy.grants[own.grant];
  return {override, !own.exact_path || *own.exact_path == path ? override : front};
}

// The grant under which the state of a key's own is. `of_key`: that of its override, if it has one.
const Grant& own_grant(const Policy& policy, const Grant& of_key) {
  return of_key.unlimited ? policy.grants.front() : of_key;
}

bool is_apart(const Policy& policy, const Grant& own, const Grant& grant) {
  return &own != &grant && (own.unlimited || !share_states(policy.terms, own, grant));
}

// Appends a last part to the key of a request that is counted under another grant than the key's
// own, unless both share a state: one for each kind of state. Otherwise a request under the shorter
// window would give back what was spent under the longer one.
void set_apart(const Policy& policy, const Grant& of_key, const Grant& grant, std::string& text) {
  if (!is_apart(policy, own_grant(policy, of_key), grant)) return;
  append_counted(text, [&](std::string& out) {
    const StateKind own = state_kind(policy.terms, policy.grants.front());
    state_kind(policy.terms, grant).append_to(out, own);
  });
}

// Appends the parts of a key, length-prefixed, with this path if one is given. Returns the offset
// of the last one, or the end of `text` if the key has no component.
std::size_t append_parts(const std::vector<Component>& key, LazyRequest& request,
                         std::optional<std::string_view> path, std::string& text) {
  std::size_t last_part = text.size();
  for (const Component& component : key) {
    last_part = append_counted(text, [&](std::string& out) {
      if (path && component.is_path()) {
        out.append(*path);
      } else {
        component.append(request, out);
      }
    });
  }
  return last_part;
}

// Whether the policy may be for a path that is read so.
bool may_match(const Rule& rule, std::string_view path) {
  return rule.conditions.empty() ||
         std::ranges::any_of(rule.conditions, [&](const Condition& condition) {
           return condition.paths.empty() ||
                  std::ranges::any_of(condition.paths, [&](const Condition::Path& pattern) {
                    return pattern.routed.matches(path);
                  });
         });
}

// Appends the parts of the key with the path of the request that the policy is for, where upstreams
// read it in several ways. That of an override which gives no more than the policy comes first: it
// holds for a request that any upstream may read so. Returns the offset of the last part.
std::size_t append_parts_by_reading(const Rule& rule, LazyRequest& request, std::string& text) {
  const std::size_t begin = text.size();
  const auto append = [&](std::string_view path) {
    text.resize(begin);
    return append_parts(rule.key, request, path, text);
  };
  if (!rule.overrides.empty()) {
    for (const std::string_view reading : request.path().readings()) {
      const std::size_t last_part = append(reading);
      const auto found = rule.overrides.find(std::string_view(text).substr(begin));
      if (found != rule.overrides.end() && !found->second.exact_path) return last_part;
    }
  }
  return append(
      request.path().key([&](std::string_view reading) { return may_match(rule, reading); }));
}

// Whether an override gives more than the policy to an address behind which another client may
// hide, or for a host that some upstreams do not read in the request.
bool is_uncertain(const Policy& policy, const Rule& rule, const Grant& grant,
                  LazyRequest& request) {
  const Grant& own = policy.grants.front();
  if (&grant == &own || !gives_more(grant, own.quota)) return false;
  return std::ranges::any_of(rule.key, [&](const Component& component) {
    return (component.is_address() && !request.client().is_certain) ||
           (component.is_of_host() && !request.host_is_certain());
  });
}

// Returns the grant for a request that is counted under `grant`, but whose headers name other
// clients: an override that gives one of them less holds, whichever of them it is.
const Grant& least_grant(const Policy& policy, const Rule& rule, const Grant& grant,
                         LazyRequest& request, std::string& text) {
  if (rule.overrides.empty() || std::ranges::none_of(rule.key, &Component::is_address)) {
    return grant;
  }
  const Client client = request.client();
  const Grant* least = &grant;
  const std::size_t begin = text.size();
  for (const std::optional<Address>& address : client.claimed) {
    if (!address) continue;
    request.assume({address, false, {}});
    append_parts(rule.key, request, std::nullopt, text);
    const Grant& other =
        *grants_for(policy, rule, std::string_view(text).substr(begin), request.raw().path)
             .of_request;
    if (&other != &policy.grants.front() && !gives_more(other, least->quota)) least = &other;
    text.resize(begin);
  }
  request.assume(client);
  return *least;
}

// Appends the readable text of the `count` parts that end `text`, and returns where the match lies.
// Appends nothing for a single part, which is its own readable text.
Extent append_partition(std::size_t key, std::size_t parts, std::size_t last_part, std::size_t end,
                        std::size_t count, std::string& text) {
  const std::size_t key_end = text.size();
  if (count <= 1) return {key, last_part, end - last_part, end, key_end};
  // append_readable() reads from `text` while it appends to it: reserve first, so that the view
  // stays valid. Each character may need a '\' before it.
  text.reserve(key_end + 2 * (end - parts));
  append_readable(std::string_view(text).substr(parts, end - parts), text);
  return {key, key_end, text.size() - key_end, end, key_end};
}

// Begins the parts of a limit that came with the request. No configured limit has the same parts:
// theirs begin with a key that is not empty.
void append_own_limit(EnvoyUnit unit, std::string& text) {
  text.push_back('\0');
  text.push_back(static_cast<char>(unit));
}

// Clears the matches whose limit is replaced by the limit of another match (`replaces` in Envoy's
// configuration).
void drop_replaced(std::span<Match> matches) {
  const auto replaced = [&](EnvoyLimit::NameId name) {
    return std::any_of(matches.begin(), matches.end(), [&](const Match& match) {
      if (match.policy == nullptr) return false;
      const auto& replaces = match.grant->envoy->replaces;
      return std::find(replaces.begin(), replaces.end(), name) != replaces.end();
    });
  };
  // Finds all before it clears any: a limit that is replaced itself still replaces others.
  std::bitset<policies_per_request_max> dropped;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i].policy == nullptr || matches[i].grant->unlimited) continue;
    const EnvoyLimit::NameId name = matches[i].grant->envoy->name_id;
    dropped.set(i, name != 0 && replaced(name));
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (dropped.test(i)) matches[i] = {};
  }
}

// Points the views of a match into the text, which must not grow any more.
void set_views(Match& match, const Extent& extent, const std::string& text) {
  const std::string_view all = text;
  match.key = all.substr(extent.key, extent.key_end - extent.key);
  match.own_key = all.substr(extent.key, extent.own_key_end - extent.key);
  match.partition = all.substr(extent.partition, extent.partition_size);
}

// The same for all matches that have a policy.
std::span<Match> set_all_views(Scratch& scratch) {
  for (std::size_t i = 0; i < scratch.matches.size(); ++i) {
    Match& match = scratch.matches[i];
    if (match.policy != nullptr) set_views(match, scratch.extents[i], scratch.text);
  }
  return scratch.matches;
}

// The three ways in which PolicySet::named() finds a match. `text` holds the rule's key_head.

Match named_boulder_limit(const Policy& policy, const Rule& rule, std::string_view id,
                          std::uint64_t cost, std::string& text) {
  const std::size_t part =
      append_counted(text, [&](std::string& out) { rule.boulder->append_normal(id, out); });
  const auto override_id = rule.boulder->override_of(std::string_view(text).substr(part));
  Match match{&policy, grants_for(policy, rule, override_id, {}).of_request, {}, {}, {}, cost};
  set_views(match, {0, part, text.size() - part, text.size(), text.size()}, text);
  return match;
}

Match named_descriptor(const Policy& policy, const Rule& rule, std::string_view descriptor,
                       std::uint64_t cost, std::string& text) {
  std::string buffer;
  const std::vector<DescriptorEntry> entries = split_descriptor(descriptor, buffer);
  const std::uint32_t grant = rule.envoy->find(entries, text);
  if (grant == 0) append_entries(entries, text);
  const std::size_t end = text.size();
  append_readable(entries, text);
  Match match{&policy, &policy.grants[grant], {}, {}, {}, cost};
  set_views(match, {0, end, text.size() - end, end, end}, text);
  return match;
}

Match named_partition(const Policy& policy, const Rule& rule, std::string_view partition,
                      std::uint64_t cost, std::string& text) {
  const std::size_t parts = text.size();
  std::size_t last_part = parts;
  std::size_t count = 0;
  std::string_view path = partition;
  std::vector<std::string> given;
  if (rule.key.size() >= 2) {
    given = split_readable(partition, rule.key.size());
    for (; count < given.size(); ++count) {
      if (rule.key[count].is_path()) path = given[count];
      last_part = append_counted(
          text, [&](std::string& out) { rule.key[count].append_given(given[count], out); });
    }
  }
  const bool is_global = rule.key.empty() && partition.empty();
  if (count == 0 && !is_global) {
    // One part: that of a key with one component, or a text that does not fit the key.
    count = 1;
    last_part = append_counted(text, [&](std::string& out) {
      if (rule.key.size() == 1) {
        rule.key.front().append_given(partition, out);
      } else {
        out.append(partition);
      }
    });
  }
  const Grants grants = grants_for(policy, rule, std::string_view(text).substr(parts), path);
  const std::size_t parts_end = text.size();
  set_apart(policy, *grants.of_key, *grants.of_request, text);
  Match match{&policy, grants.of_request, {}, {}, {}, cost};
  set_views(match, append_partition(0, parts, last_part, parts_end, count, text), text);
  return match;
}

}  // namespace

PolicySet::PolicySet(Settings settings, std::unique_ptr<const Rules> rules)
    : settings_(std::move(settings)),
      rules_(std::move(rules)),
      asks_for_host_(asks_for_host(*rules_)) {}

PolicySet::~PolicySet() = default;

std::span<const Policy> PolicySet::policies() const noexcept { return rules_->policies; }

const Policy* PolicySet::find(std::string_view name) const noexcept {
  const auto found = rules_->by_name.find(name);
  return found == rules_->by_name.end() ? nullptr : &rules_->policies[found->second];
}

bool PolicySet::has_candidates() const noexcept {
  return std::ranges::any_of(rules_->policies, &Policy::has_candidate);
}

std::vector<std::string> PolicySet::names() const {
  std::vector<std::string> names;
  for (const Policy& policy : rules_->policies) names.push_back(policy.name);
  return names;
}

std::span<const Fault> PolicySet::warnings() const noexcept { return rules_->warnings; }

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
    const std::uint64_t most = match.enforced() ? match.grant->quota.units : limit::Quota::cost_max;
    wanted = std::min(wanted.value_or(most), most);
  }
  return wanted;
}

std::span<const Match> PolicySet::match(const Request& request, Scratch& scratch) const {
  LazyRequest lazy_request(request, settings_.client_address, scratch.host, scratch.path,
                           scratch.headers);
  scratch.refusal = Refusal::none;
  const auto refuse = [&](Refusal why) {
    scratch.refusal = why;
    return std::span<const Match>();
  };
  // To charge the policies of all hosts would let one request spend what many hosts have. Who
  // allows a request does not allow what upstreams may make of such a host.
  if (asks_for_host_ && lazy_request.may_be_any_host()) return refuse(Refusal::unclear_host);
  if (any_holds(rules_->allow, lazy_request, Effect::exempts)) return {};
  std::string& text = scratch.text;
  text.clear();
  std::vector<Match>& matches = scratch.matches;
  std::vector<Extent>& extents = scratch.extents;
  matches.clear();
  extents.clear();
  const auto first_with_key = [&](std::size_t key_group) {
    std::size_t first = 0;
    while (first < matches.size() &&
           rules_->rules[matches[first].policy->index].key_group != key_group) {
      ++first;
    }
    return first;
  };
  const std::span<const std::uint32_t> found = rules_->index.find(lazy_request, scratch.found);
  // Those in shadow mode come last: they take no place from those in force.
  for (const Mode mode : {Mode::enforce, Mode::shadow}) {
    for (const std::uint32_t index : found) {
      const Policy& policy = rules_->policies[index];
      const Rule& rule = rules_->rules[index];
      if (policy.mode != mode || !applies(*rules_, rule, lazy_request)) continue;
      // A policy and its candidate apply together or not at all: one of them is in force.
      const bool is_full =
          matches.size() + (policy.has_candidate ? 1 : 0) >= policies_per_request_max;
      if (is_full && mode == Mode::shadow) break;

      const std::size_t key = text.size();
      text.append(rule.key_head);
      const std::size_t parts = text.size();
      std::size_t last_part = parts;
      // Policies often share a key: only the first of them that matches reads it from the request,
      // and the others copy its parts. Measured by `./dev bench`, figure headgate-3.
      const bool by_reading = std::ranges::any_of(rule.key, &Component::is_path) &&
                              lazy_request.path().readings().size() > 1;
      const bool is_beside = policy.is_candidate() && !matches.empty() &&
                             matches.back().policy->index == policy.twin();
      const std::size_t first = is_beside    ? matches.size() - 1  // both have one key
                                : by_reading ? matches.size()
                                             : first_with_key(rule.key_group);
      const bool is_first = first == matches.size();
      if (by_reading && is_first) {
        last_part = append_parts_by_reading(rule, lazy_request, text);
      } else if (is_first) {
        last_part = append_parts(rule.key, lazy_request, std::nullopt, text);
      } else {
        const Rule& other = rules_->rules[matches[first].policy->index];
        const std::size_t from = extents[first].key + other.key_head.size();
        text.append(text, from, extents[first].own_key_end - from);
      }
      const Grants grants =
          grants_for(policy, rule, std::string_view(text).substr(parts), request.path);
      const Grant* grant = grants.of_request;
      if (is_uncertain(policy, rule, *grant, lazy_request)) grant = &policy.grants.front();
      grant = &least_grant(policy, rule, *grant, lazy_request, text);
      if (grant->unlimited) {
        text.resize(key);
        continue;
      }
      if (is_full) return refuse(Refusal::too_many);
      const std::size_t parts_end = text.size();
      set_apart(policy, *grants.of_key, *grant, text);
      extents.push_back(
          is_first ? append_partition(key, parts, last_part, parts_end, rule.key.size(), text)
                   : Extent{key, extents[first].partition, extents[first].partition_size, parts_end,
                            text.size()});
      const Cost cost = rule.cost.of(request);
      bool shadow = false;
      if (policy.has_candidate) {
        shadow = is_in_share(std::string_view(text).substr(key, parts_end - key),
                             policy.candidate_share);
      } else if (is_beside) {
        shadow = !matches.back().shadow;
      }
      matches.push_back({&policy, grant, {}, {}, {}, cost.units, cost.defaulted, shadow});
    }
  }
  return set_all_views(scratch);
}

const Policy* PolicySet::domain(std::string_view name) const noexcept {
  const Policy* policy = find(name);
  return policy == nullptr || rules_->rules[policy->index].envoy == nullptr ? nullptr : policy;
}

std::span<const Match> PolicySet::match(std::string_view domain,
                                        std::span<const Descriptor> descriptors,
                                        Scratch& scratch) const {
  const Policy* policy = this->domain(domain);
  std::string& text = scratch.text;
  text.clear();
  scratch.matches.assign(descriptors.size(), {});
  scratch.extents.assign(descriptors.size(), {});
  for (std::size_t i = 0; policy != nullptr && i < descriptors.size(); ++i) {
    const Descriptor& descriptor = descriptors[i];
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
    scratch.extents[i] = {key, end, text.size() - end, end, end};
    scratch.matches[i] = {policy, grant, {},
                          {},     {},    std::min(descriptor.cost, limit::Quota::cost_max)};
  }
  const std::span<Match> matches = set_all_views(scratch);
  drop_replaced(matches);
  return matches;
}

std::string_view PolicySet::response_member(const Policy& policy) const noexcept {
  const Rule& rule = rules_->rules[policy.index];
  return rule.settled ? std::string_view(rule.settled->path) : std::string_view();
}

Cost PolicySet::late_cost(const Policy& policy, const Response& response) const noexcept {
  if (response.status < policy.refund_on.size() && policy.refund_on.test(response.status)) {
    return {0, false};
  }
  const Rule& rule = rules_->rules[policy.index];
  return (rule.settled ? *rule.settled : rule.cost).of_response(response);
}

Match PolicySet::named(const Policy& policy, std::string_view partition, std::uint64_t cost,
                       std::string& text) const {
  const Rule& rule = rules_->rules[policy.index];
  const std::uint64_t units = std::min(cost, limit::Quota::cost_max);
  text.assign(rule.key_head);
  if (rule.boulder != nullptr) return named_boulder_limit(policy, rule, partition, units, text);
  if (rule.envoy != nullptr) return named_descriptor(policy, rule, partition, units, text);
  return named_partition(policy, rule, partition, units, text);
}

std::optional<Match> PolicySet::named(std::string_view policy_name, std::string_view partition,
                                      std::uint64_t cost, std::string& text) const {
  const Policy* policy = find(policy_name);
  if (policy == nullptr) return std::nullopt;
  if (policy->is_candidate()) {
    const Match live = named(rules_->policies[policy->twin()], partition, cost, text);
    const bool in_force = is_in_share(live.own_key, policy->candidate_share);
    Match match = named(*policy, partition, cost, text);
    match.shadow = !in_force;
    return match;
  }
  const Match match = named(*policy, partition, cost, text);
  if (!policy->has_candidate || !is_in_share(match.own_key, policy->candidate_share)) return match;
  return named(rules_->policies[policy->twin()], partition, cost, text);
}

const Grant* PolicySet::own_grant(const Policy& of, std::string_view key) const noexcept {
  const Policy* const policy = find(of.name);
  if (policy == nullptr || policy->terms.algorithm != of.terms.algorithm) return nullptr;
  const Rule& rule = rules_->rules[policy->index];
  if (policy->sharing != of.sharing || rule.envoy != nullptr || !key.starts_with(rule.key_head)) {
    return nullptr;
  }
  std::string_view id = key.substr(rule.key_head.size());
  std::string_view rest = id;
  for (std::size_t i = 0; i < (rule.boulder != nullptr ? 1 : rule.key.size()); ++i) {
    const auto part = take_counted(rest);
    if (!part) return nullptr;
    if (rule.boulder != nullptr) id = rule.boulder->override_of(*part);
  }
  if (!rest.empty()) return nullptr;  // it is set apart
  const Grant& own = policy::own_grant(*policy, *grants_for(*policy, rule, id, {}).of_key);
  return own.unlimited ? nullptr : &own;
}

std::vector<Match> PolicySet::apart(const Match& match, std::size_t most, std::string& text) const {
  const Policy& policy = *match.policy;
  const Rule& rule = rules_->rules[policy.index];
  std::vector<Match> apart;
  if (rule.overrides.empty() || rule.boulder != nullptr || rule.envoy != nullptr) return apart;
  const Grant& own = policy::own_grant(
      policy, *grants_for(policy, rule, match.own_key.substr(rule.key_head.size()), {}).of_key);
  std::vector<Extent> extents;
  text.clear();
  const auto add = [&](const Grant& grant) {
    const std::size_t key = text.size();
    text.append(match.own_key);
    const std::size_t own_key_end = text.size();
    set_apart(policy, own, grant, text);
    const std::string_view made = std::string_view(text).substr(key);
    const bool is_there =
        (made == match.key && !match.grant->unlimited) ||
        std::ranges::any_of(extents, [&](const Extent& other) {
          return std::string_view(text).substr(other.key, other.key_end - other.key) == made;
        });
    if (is_there) return text.resize(key);
    extents.push_back({key, own_key_end, 0, own_key_end, text.size()});
    apart.push_back({&policy, &grant, {}, {}, {}, 0, false, match.shadow});
  };
  if (!own.unlimited) add(own);
  for (const Grant& grant : policy.grants) {
    if (apart.size() == most) break;
    if (!grant.unlimited && is_apart(policy, own, grant)) add(grant);
  }
  for (std::size_t i = 0; i < apart.size(); ++i) set_views(apart[i], extents[i], text);
  return apart;
}

std::optional<Match> PolicySet::beside(std::string_view policy_name, std::string_view partition,
                                       std::uint64_t cost, std::string& text) const {
  const Policy* policy = find(policy_name);
  if (policy == nullptr || !policy->has_candidate) return std::nullopt;
  Match match = named(*policy, partition, cost, text);
  if (!is_in_share(match.own_key, policy->candidate_share)) {
    match = named(rules_->policies[policy->twin()], partition, cost, text);
  }
  match.shadow = true;
  return match;
}

}  // namespace headgate::policy
