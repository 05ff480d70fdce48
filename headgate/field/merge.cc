#include "headgate/field/merge.h"

#include <algorithm>
#include <new>
#include <utility>

#include "headgate/field/read/member_reader.h"

namespace headgate::field {
namespace {

Treatment treatment(Shape shape, bool present) noexcept {
  switch (shape) {
    case Shape::current:
      return Treatment::add;
    case Shape::empty:
      // An empty line alone is no field, but with a second line it is a malformed List.
      return present ? Treatment::replace : Treatment::add;
    case Shape::legacy:
      return Treatment::keep;
    case Shape::malformed:
      return Treatment::replace;
  }
  return Treatment::keep;
}

}  // namespace

Upstream Upstream::read(std::span<const std::string_view> ratelimit_lines,
                        std::span<const std::string_view> policy_lines,
                        OlderFields older) noexcept {
  Upstream upstream;
  upstream.older_ = older;
  if (ratelimit_lines.empty() && policy_lines.empty()) return upstream;
  try {
    Reading limits = read_members(FieldKind::ratelimit, ratelimit_lines);
    Reading policies = read_members(FieldKind::policy, policy_lines);
    upstream.lists_ = limits.shape == Shape::current || policies.shape == Shape::current;
    upstream.ratelimit_ = treatment(limits.shape, !ratelimit_lines.empty());
    // Current policies beside a RateLimit of an older draft would be joined with no limit, and a
    // reader would use them alone and ignore the older field.
    upstream.policy_ = limits.shape == Shape::legacy
                           ? Treatment::keep
                           : treatment(policies.shape, !policy_lines.empty());
    upstream.members_.reserve(limits.members.size() + policies.members.size());
    for (std::vector<Member>* members : {&limits.members, &policies.members}) {
      for (Member& member : *members) {
        upstream.members_.push_back({std::move(*member.policy), std::move(member.pk)});
      }
    }
    std::sort(upstream.members_.begin(), upstream.members_.end(),
              [](const Named& a, const Named& b) {
                return a.name != b.name ? a.name < b.name : a.pk < b.pk;
              });
  } catch (const std::bad_alloc&) {
    return unread(older);
  }
  return upstream;
}

Upstream Upstream::unread(OlderFields older) noexcept {
  Upstream upstream;
  upstream.older_ = older;
  upstream.ratelimit_ = Treatment::keep;
  upstream.policy_ = Treatment::keep;
  return upstream;
}

bool Upstream::leaves(Form form) const noexcept {
  const bool both_free = !lists_ && ratelimit_ != Treatment::keep && policy_ != Treatment::keep;
  switch (form) {
    case Form::ratelimit:
      return true;  // as ratelimit() and policy() say, field by field
    case Form::draft_07:
      return both_free;
    case Form::draft_06:
      return both_free && !older_.limit_fields;
    case Form::draft_03:
      return !older_.limit_fields;
    case Form::x_ratelimit:
      return !older_.x_ratelimit;
  }
  return false;
}

bool Upstream::has(std::string_view name, std::optional<std::string_view> pk) const noexcept {
  const auto first =
      std::lower_bound(members_.begin(), members_.end(), name,
                       [](const Named& a, std::string_view wanted) { return a.name < wanted; });
  if (first == members_.end() || first->name != name) return false;
  if (!pk || !first->pk) return true;
  const auto found = std::lower_bound(
      first, members_.end(), *pk,
      [name](const Named& a, std::string_view wanted) { return a.name == name && *a.pk < wanted; });
  return found != members_.end() && found->name == name && *found->pk == *pk;
}

std::optional<std::string> Upstream::free_name(
    std::string_view name, std::optional<std::string_view> pk, std::string_view prefix,
    std::span<const std::string_view> own_names) const noexcept {
  // Each gateway on the way may have added one prefix; 8 bounds the work for a hostile upstream.
  constexpr int prefixes_max = 8;
  try {
    std::string candidate(name);
    for (int i = 0; i < prefixes_max; ++i) {
      candidate.insert(0, prefix);
      const bool own = std::find(own_names.begin(), own_names.end(), candidate) != own_names.end();
      if (!own && !has(candidate, pk)) return candidate;
    }
  } catch (const std::bad_alloc&) {
  }
  return {};
}

}  // namespace headgate::field
