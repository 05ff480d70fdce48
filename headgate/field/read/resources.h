// Reading X-MS-RateLimit-Remaining-Resource, in which Azure lists what is left of several limits:
//
//   x-ms-ratelimit-remaining-resource:
//   Microsoft.Compute/GetVM3Min;197,Microsoft.Compute/GetVM30Min;1297
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headgate/field/header_line.h"
#include "headgate/field/read/ignored.h"
#include "headgate/field/read/member.h"

namespace headgate::field {

inline constexpr std::string_view resources_name = "x-ms-ratelimit-remaining-resource";

// Returns a member with name and remainder for each entry of a value, or std::nullopt if it is no
// such list. Linear time.
[[nodiscard]] std::optional<std::vector<Member>> parse_resources(std::string_view value);

// Returns the entries of all lines of the field. If a line is malformed, the field is ignored and
// appended to `ignored`.
[[nodiscard]] std::vector<Member> read_resources(std::span<const HeaderLine> headers,
                                                 IgnoredList& ignored);

}  // namespace headgate::field
