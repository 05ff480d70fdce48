// The fields of a response from its members, in any form and with vendor parameters: the general
// way, which allocates. Doors use gate/field_writer.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/field/form.h"
#include "headgate/field/read/member.h"
#include "headgate/field/sf/value.h"

namespace headgate::field {

struct Announcement {
  Member member;
  sf::Parameters policy_extra;  // vendor parameters in RateLimit-Policy; keys like acme-burst
  sf::Parameters limit_extra;   // and in RateLimit
};

// Whether the policies behind the limits are told, too.
enum class PolicyPart : std::uint8_t { send, omit };

struct FieldLine {
  std::string_view name;
  std::string value;
  friend bool operator==(const FieldLine&, const FieldLine&) = default;
};

// The fields to send, in order; none where there is nothing to say. Numbers are lowered to
// 999,999,999,999,999.
//
// Form::ratelimit: a member with q stands in RateLimit-Policy, one with r in RateLimit. Refused: a
// member without a name or with t but no r, w = 0, a vendor parameter with a key of the draft, and
// what sf::serialise() refuses.
//
// The older forms tell, of the members that have q and r and count requests, the one closest to
// exhaustion, and the policies of all that have w. They have no names, partition keys or vendor
// parameters. A draft's form without t is left out, since its reset is not optional.
[[nodiscard]] Result<std::vector<FieldLine>, sf::Error> announce(
    std::span<const Announcement> announcements, Form form = Form::ratelimit,
    PolicyPart policies = PolicyPart::send);

}  // namespace headgate::field
