// Reading X-RateLimit fields that come in families, told apart by a suffix: a window, or a unit.
//
//   X-RateLimit-Limit-Minute: 5             x-ratelimit-limit-tokens: 160000
//   X-RateLimit-Remaining-Minute: 4         x-ratelimit-remaining-tokens: 159976
//                                           x-ratelimit-reset-tokens: 6m0s
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

// A name of such a field, taken apart: x-ratelimit-limit-tokens is the limit of tokens.
struct SuffixedName {
  enum class Part : std::uint8_t { limit, remaining, reset };
  Part part;
  std::string_view suffix;  // letters and underscores, in the case in which they came
};
[[nodiscard]] std::optional<SuffixedName> suffixed_name(std::string_view name,
                                                        std::string_view prefix) noexcept;

// One member a suffix that has a limit or something remaining, named as the suffix, units before
// windows and short windows before long ones. Of repeated fields the first counts; a malformed one
// is ignored alone. `prefix` is in lower case; `base` as for parse_reset(). May throw
// std::bad_alloc; linear but for sorting the suffixes.
[[nodiscard]] std::vector<Member> read_suffixed(std::span<const HeaderLine> headers,
                                                std::string_view prefix,
                                                std::optional<std::int64_t> base,
                                                IgnoredList& ignored);

}  // namespace headgate::field
