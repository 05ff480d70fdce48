// Reading X-RateLimit fields of several limits, whose names differ in a suffix: a window, or a
// unit.
//
//   X-RateLimit-Limit-Minute: 5             x-ratelimit-limit-tokens: 160000
//   X-RateLimit-Remaining-Minute: 4         x-ratelimit-remaining-tokens: 159976
//                                           x-ratelimit-reset-tokens: 6m0s
//
//   anthropic-ratelimit-tokens-limit: 400000
//   anthropic-ratelimit-tokens-remaining: 312000
//   anthropic-ratelimit-tokens-reset: 2025-01-15T14:23:15Z
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headgate/field/header_line.h"
#include "headgate/field/read/ignored.h"
#include "headgate/field/read/member.h"

namespace headgate::field {

// The window that a suffix of these fields names [s]: second to year.
[[nodiscard]] std::optional<std::uint64_t> window_of_suffix(std::string_view suffix) noexcept;

// The parts of such a name: x-ratelimit-limit-tokens has the part limit and the suffix tokens, and
// so has x-ratelimit-tokens-limit.
struct SuffixedName {
  enum class Part : std::uint8_t { limit, remaining, reset };
  Part part;
  std::string_view suffix;  // letters, digits, '_', '-' and '.', in their original case
};
// std::nullopt if `name` is no such name. `prefix` is in lower case.
[[nodiscard]] std::optional<SuffixedName> suffixed_name(std::string_view name,
                                                        std::string_view prefix) noexcept;

// Returns one member per suffix that has a limit or remaining field, named as the suffix; units
// come before windows, and short windows before long ones. A field that is malformed or repeated is
// ignored and appended to `ignored`; if a part has both of its names, the first one counts.
// `prefix` is in lower case; `base` as for parse_reset(). May throw std::bad_alloc; linear time,
// except for sorting the suffixes.
[[nodiscard]] std::vector<Member> read_suffixed(std::span<const HeaderLine> headers,
                                                std::string_view prefix,
                                                std::optional<std::int64_t> base,
                                                IgnoredList& ignored);

}  // namespace headgate::field
