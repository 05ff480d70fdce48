// Reading RateLimit as draft-07 of draft-ietf-httpapi-ratelimit-headers had it, a Dictionary:
//
//   RateLimit: limit=100, remaining=50, reset=30
#pragma once

#include <cstdint>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/field/sf/value.h"

namespace headgate::field {

struct Draft07 {
  std::uint64_t limit = 0;
  std::uint64_t remaining = 0;
  std::uint64_t reset = 0;  // [s]
};

// All three keys must be there with Integers >= 0; other keys and all parameters are ignored, and
// of duplicates the last counts. No allocation; linear.
[[nodiscard]] Result<Draft07, sf::Error> read_draft_07(std::string_view value) noexcept;

// Whether a value that could not be read was meant to be such a Dictionary: it starts with a key
// and "=", which a List never does.
[[nodiscard]] bool looks_like_draft_07(std::string_view value) noexcept;

}  // namespace headgate::field
