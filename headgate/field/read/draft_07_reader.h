// Reading RateLimit in the form of draft-07 of draft-ietf-httpapi-ratelimit-headers, a Dictionary:
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

// All three keys must be present with Integers >= 0. Other keys and all parameters are ignored; if
// a key is repeated, the last one counts. No allocation; linear time.
[[nodiscard]] Result<Draft07, sf::Error> read_draft_07(std::string_view value) noexcept;

// Whether a malformed value was probably meant to be such a Dictionary: it starts with a key and
// "=", which a List never does.
[[nodiscard]] bool resembles_draft_07(std::string_view value) noexcept;

}  // namespace headgate::field
