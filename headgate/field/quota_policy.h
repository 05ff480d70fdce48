// A policy as the older forms tell it, in RateLimit-Policy or after RateLimit-Limit's own number:
// `100;w=60`.
#pragma once

#include <cstdint>

#include "headgate/base/writer.h"

namespace headgate::field {

// Numbers above 999,999,999,999,999 are lowered to it. False, and nothing written, if it does not
// fit or w is 0: the forms have no zero-length windows. No allocation.
[[nodiscard]] bool write_quota_policy(Writer& out, std::uint64_t q, std::uint64_t w) noexcept;

}  // namespace headgate::field
