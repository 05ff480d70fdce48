#include "headgate/field/read/policy_index.h"

#include <algorithm>
#include <utility>

namespace headgate::field {

PolicyIndex::PolicyIndex(std::vector<Member>& policies) {
  entries_.reserve(policies.size());
  for (Member& policy : policies) entries_.push_back({&policy, 0, false});
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    const Member& x = *a.policy;
    const Member& y = *b.policy;
    if (const int order = x.policy->compare(*y.policy); order != 0) return order < 0;
    return x.pk != y.pk ? x.pk < y.pk : a.policy < b.policy;
  });
  for (std::size_t begin = 0, end = 0; begin < entries_.size(); begin = end) {
    std::size_t first = begin;
    const auto& name = entries_[begin].policy->policy;
    for (end = begin; end < entries_.size() && entries_[end].policy->policy == name; ++end) {
      if (entries_[end].policy < entries_[first].policy) first = end;
    }
    for (std::size_t i = begin; i < end; ++i) entries_[i].first_of_name = first;
  }
}

const Member* PolicyIndex::find(const Member& limit) noexcept {
  Entry* found = entry(limit);
  if (found == nullptr) return nullptr;
  found->found = true;
  return found->policy;
}

PolicyIndex::Entry* PolicyIndex::entry(const Member& limit) noexcept {
  const auto first =
      std::lower_bound(entries_.begin(), entries_.end(), limit.policy,
                       [](const Entry& a, const auto& name) { return a.policy->policy < name; });
  if (first == entries_.end() || first->policy->policy != limit.policy) return nullptr;
  Entry* const unkeyed = first->policy->pk ? nullptr : &*first;
  if (!limit.pk) return unkeyed != nullptr ? unkeyed : &entries_[first->first_of_name];
  const auto keyed =
      std::lower_bound(first, entries_.end(), limit, [](const Entry& a, const Member& wanted) {
        return a.policy->policy == wanted.policy && a.policy->pk < wanted.pk;
      });
  const bool same = keyed != entries_.end() && keyed->policy->policy == limit.policy &&
                    keyed->policy->pk == limit.pk;
  return same ? &*keyed : unkeyed;
}

void PolicyIndex::move_rest(std::vector<Member>& out) {
  const auto rest = std::remove_if(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.found; });
  std::sort(entries_.begin(), rest,
            [](const Entry& a, const Entry& b) { return a.policy < b.policy; });
  for (auto entry = entries_.begin(); entry != rest; ++entry) {
    out.push_back(std::move(*entry->policy));
  }
  entries_.clear();
}

std::vector<Member> join(std::vector<Member> limits, std::vector<Member> policies) {
  PolicyIndex index(policies);
  for (Member& limit : limits) {
    const Member* policy = index.find(limit);
    if (policy == nullptr) continue;
    limit.q = policy->q;
    limit.unit = policy->unit;
    limit.w = policy->w;
    if (!limit.pk) limit.pk = policy->pk;
  }
  index.move_rest(limits);
  return limits;
}

}  // namespace headgate::field
