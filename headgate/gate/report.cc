#include "headgate/gate/report.h"

#include <array>
#include <cassert>

#include "headgate/field/problem.h"
#include "headgate/field/ratelimit.h"

namespace headgate::gate {
namespace {

// Text that `write(Writer&)` makes, in a buffer with room for `names` escaped and a few numbers.
template <class Write>
std::string text(std::string_view names, Write write) {
  std::string room(2 * names.size() + 128, '\0');
  Writer out(room);
  [[maybe_unused]] const bool written = write(out);
  assert(written);  // names and units were checked when the policy file was read
  return std::string(out.text());
}

}  // namespace

Report::Report(const policy::PolicySet& policies)
    : partition_key_(policies.settings().partition_key) {
  for (const policy::Policy& policy : policies.policies()) {
    Policy& mine = policies_.emplace_back();
    mine.name = policy.name;
    mine.quoted =
        text(policy.name, [&](Writer& out) { return field::write_quoted_name(out, policy.name); });
    for (const policy::Grant& grant : policy.grants) {
      Grant& made = mine.grants.emplace_back(Grant{&policy, &grant.quota, {}});
      if (grant.unlimited) continue;  // never reported
      made.member = text(policy.name + policy.unit, [&](Writer& out) {
        return field::write_policy_member(out, policy.name, grant.quota.units, policy.unit,
                                          ceil_seconds(grant.quota.window), {});
      });
    }
  }
}

// Puts one member an item: its name, then `parameters(item)`. All or nothing.
template <class Parameters>
bool Report::write_members(std::span<const Item> items, Renames renames, Writer& out,
                           Parameters parameters) const noexcept {
  const Writer::Mark before = out.mark();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.put(field::member_separator);
    bool good = true;
    if (renames.empty() || renames[i].empty()) {
      out.put(policies_[items[i].policy].quoted);
    } else {
      good = field::write_quoted_name(out, renames[i]);
    }
    if (!good || !parameters(items[i])) {
      out.rewind(before);
      return false;
    }
  }
  if (!out.overflow()) return true;
  out.rewind(before);
  return false;
}

bool Report::write_ratelimit(std::span<const Item> items, Renames renames,
                             Writer& out) const noexcept {
  return write_members(items, renames, out, [&](const Item& item) {
    std::optional<std::uint64_t> t;
    if (item.reset != limit::Decision::no_reset) t = item.reset;
    return field::write_limit_parameters(out, item.remaining, t, pk(item));
  });
}

bool Report::write_ratelimit_policy(std::span<const Item> items, Renames renames,
                                    Writer& out) const noexcept {
  return write_members(items, renames, out, [&](const Item& item) {
    const Grant& grant = policies_[item.policy].grants[item.grant];
    if (const auto bytes = pk(item)) {
      return field::write_policy_parameters(out, grant.quota->units, grant.policy->unit,
                                            ceil_seconds(grant.quota->window), bytes);
    }
    out.put(std::string_view(grant.member).substr(policies_[item.policy].quoted.size()));
    return true;
  });
}

std::optional<std::string_view> Report::constant_policy(std::span<const Item> items,
                                                        Renames renames) const noexcept {
  if (items.size() != 1 || !renames.empty() || pk(items[0])) return std::nullopt;
  return policies_[items[0].policy].grants[items[0].grant].member;
}

bool Report::write_problem(const Verdict& verdict, Writer& out) const noexcept {
  std::array<std::string_view, policy::policies_max> names;
  std::size_t count = 0;
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    if (verdict.violated.test(i)) names[count++] = policies_[i].name;
  }
  return field::write_problem(out, field::Problem::quota_exceeded, verdict.status(),
                              std::span(names).first(count));
}

std::optional<std::string_view> Report::pk(const Item& item) const noexcept {
  if (partition_key_ == policy::PartitionKey::omit) return std::nullopt;
  return item.pk;
}

}  // namespace headgate::gate
