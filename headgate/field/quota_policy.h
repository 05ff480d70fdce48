// Writing one policy in the older forms, `100;w=60`: in RateLimit-Policy, or in RateLimit-Limit
// after the limit's own number.
#pragma once

#include <cstdint>

#include "headgate/base/writer.h"

namespace headgate::field {

// Numbers above 999,999,999,999,999 are lowered to it. Returns false and writes nothing if the text
// does not fit or w is 0: the forms have no zero-length windows. No allocation.
[[nodiscard]] bool write_quota_policy(Writer& out, std::uint64_t q, std::uint64_t w) noexcept;

}  // namespace headgate::field
