// Writes the fields of a response from its members, in any form and with vendor parameters. Tests
// of writing and reading use it as the reference; doors write with gate/field_writer.h, which does
// not allocate.
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

// Whether the policies of the limits are written, too.
enum class PolicyPart : std::uint8_t { send, omit };

struct FieldLine {
  std::string_view name;
  std::string value;
  friend bool operator==(const FieldLine&, const FieldLine&) = default;
};

// Returns the fields to send, in order; an empty list if there is nothing to send. Numbers are
// lowered to 999,999,999,999,999.
//
// Form::ratelimit: a member with q is written to RateLimit-Policy, one with r to RateLimit. Errors:
// a member without a name or with t but no r, w = 0, a vendor parameter with a key of the draft,
// and every error of sf::serialise().
//
// The older forms hold one limit: the closest to exhaustion of the members that have q and r and
// count requests; and the policies of all those members that have w. They have no names, partition
// keys or vendor parameters. A draft's form is omitted if the limit has no t, since its reset is
// not optional.
[[nodiscard]] Result<std::vector<FieldLine>, sf::Error> announce(
    std::span<const Announcement> announcements, Form form = Form::ratelimit,
    PolicyPart policies = PolicyPart::send);

}  // namespace headgate::field
