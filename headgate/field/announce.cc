#include "headgate/field/announce.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/sf_serialise.h"

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

}  // namespace

Result<Fields, sf::Error> announce(std::span<const Announcement> announcements) {
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
  return Fields{std::move(*policy), std::move(*ratelimit)};
}

}  // namespace headgate::field
