#include "headgate/field/testing/announce.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>
#include <utility>

#include "headgate/base/instant.h"
#include "headgate/base/writer.h"
#include "headgate/field/closest.h"
#include "headgate/field/draft_07.h"
#include "headgate/field/limit_fields.h"
#include "headgate/field/quota_policy.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/sf/serialise.h"

namespace headgate::field {
namespace {

const char* refusal(const Announcement& a) {
  constexpr std::array<std::string_view, 6> reserved = {"q", "qu", "w", "r", "t", "pk"};
  if (!a.member.policy) return "expected a policy name";
  if (a.member.t && !a.member.r) return "expected r beside t";
  if (a.member.w == std::uint64_t{0}) return "expected a window of at least one second";
  for (const sf::Parameters* extra : {&a.policy_extra, &a.limit_extra}) {
    for (const sf::Parameter& p : *extra) {
      if (std::find(reserved.begin(), reserved.end(), p.key) != reserved.end()) {
        return "expected a vendor parameter, not q, qu, w, r, t or pk";
      }
    }
  }
  return nullptr;
}

sf::Parameter number(const char* key, std::uint64_t value) {
  return {key, static_cast<std::int64_t>(std::min(value, field_integer_max))};
}

void finish(sf::Item& item, const Member& member, const sf::Parameters& extra) {
  if (member.pk) item.parameters.push_back({"pk", sf::Bytes{*member.pk}});
  item.parameters.insert(item.parameters.end(), extra.begin(), extra.end());
}

// Appends one item, which `write` writes, to a list.
template <class Write>
void add_item(std::string& list, Write write) {
  std::array<char, 96> room;  // three numbers of 15 digits, and the words between them
  Writer out(room);
  [[maybe_unused]] const bool written = write(out);
  assert(written);
  if (!list.empty()) list += member_separator;
  list += out.text();
}

std::string decimal(std::uint64_t value) {
  return std::to_string(std::min(value, field_integer_max));
}

Result<std::vector<FieldLine>, sf::Error> current(std::span<const Announcement> announcements,
                                                  PolicyPart part) {
  sf::List policies;
  sf::List limits;
  for (const Announcement& a : announcements) {
    if (const char* what = refusal(a)) return Failure<sf::Error>(sf::Error{what, 0});
    const Member& m = a.member;
    if (m.q) {
      sf::Item item{*m.policy, {number("q", *m.q)}};
      if (m.unit && !is_default_unit(*m.unit)) item.parameters.push_back({"qu", *m.unit});
      if (m.w) item.parameters.push_back(number("w", *m.w));
      finish(item, m, a.policy_extra);
      policies.push_back(std::move(item));
    }
    if (m.r) {
      sf::Item item{*m.policy, {number("r", *m.r)}};
      if (m.t) item.parameters.push_back(number("t", *m.t));
      finish(item, m, a.limit_extra);
      limits.push_back(std::move(item));
    }
  }
  auto policy = sf::serialise(policies);
  if (!policy) return Failure<sf::Error>(policy.error());
  auto ratelimit = sf::serialise(limits);
  if (!ratelimit) return Failure<sf::Error>(ratelimit.error());
  std::vector<FieldLine> lines;
  if (!policies.empty() && part == PolicyPart::send) {
    lines.push_back({policy_name, *std::move(policy)});
  }
  if (!limits.empty()) lines.push_back({ratelimit_name, *std::move(ratelimit)});
  return lines;
}

// The content of the older forms: one limit and the policies.
struct Older {
  const Member* limit = nullptr;
  std::string policies;  // "1000;w=3600, 5000;w=86400"
};

Older older(std::span<const Announcement> announcements, PolicyPart part) {
  Older chosen;
  for (const Announcement& a : announcements) {
    const Member& m = a.member;
    if (!m.q || !m.r || !is_default_unit(m.unit.value_or(""))) continue;
    if (chosen.limit == nullptr || closer(*m.r, m.t, *chosen.limit->r, chosen.limit->t)) {
      chosen.limit = &m;
    }
    if (m.w.value_or(0) > 0 && part == PolicyPart::send) {
      add_item(chosen.policies, [&](Writer& out) { return write_quota_policy(out, *m.q, *m.w); });
    }
  }
  return chosen;
}

void add_limit_fields(std::vector<FieldLine>& lines, const LimitFields& names, std::string limit,
                      const Member& member) {
  lines.push_back({names.limit, std::move(limit)});
  lines.push_back({names.remaining, decimal(*member.r)});
  if (member.t) {
    lines.push_back({names.reset, decimal(std::min(*member.t, limit_fields_reset_max))});
  }
}

}  // namespace

Result<std::vector<FieldLine>, sf::Error> announce(std::span<const Announcement> announcements,
                                                   Form form, PolicyPart part) {
  if (form == Form::ratelimit) return current(announcements, part);

  const auto [limit, policies] = older(announcements, part);
  std::vector<FieldLine> lines;
  if (limit == nullptr) return lines;
  if (form == Form::x_ratelimit) {
    add_limit_fields(lines, x_limit_fields, decimal(*limit->q), *limit);
    return lines;
  }
  if (!limit->t) return lines;
  if (form == Form::draft_03) {
    std::string all = decimal(*limit->q);
    if (!policies.empty()) (all += member_separator) += policies;
    add_limit_fields(lines, draft_limit_fields, std::move(all), *limit);
    return lines;
  }
  if (!policies.empty()) lines.push_back({policy_name, policies});
  if (form == Form::draft_06) {
    add_limit_fields(lines, draft_limit_fields, decimal(*limit->q), *limit);
  } else {
    std::string value;
    add_item(value, [limit = limit](Writer& out) {
      return write_draft_07(out, *limit->q, *limit->r, *limit->t);
    });
    lines.push_back({ratelimit_name, std::move(value)});
  }
  return lines;
}

}  // namespace headgate::field
