// Both fields of a response from its members, with vendor parameters: the general way, which
// allocates. Doors use ratelimit.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/field/member.h"
#include "headgate/field/sf_value.h"

namespace headgate::field {

struct Announcement {
  Member member;
  sf::Parameters policy_extra;  // vendor parameters in RateLimit-Policy; keys like acme-burst
  sf::Parameters limit_extra;   // and in RateLimit
};

// Values of the two fields; an empty one is left out of the response.
struct Fields {
  std::string policy;
  std::string ratelimit;
};

// A member with q stands in RateLimit-Policy, one with r in RateLimit. Numbers are lowered to
// 999,999,999,999,999. Refused: a member without a name or with t but no r, w = 0, a vendor
// parameter with a key of the draft, and what sf::serialise() refuses.
[[nodiscard]] Result<Fields, sf::Error> announce(std::span<const Announcement> announcements);

}  // namespace headgate::field
