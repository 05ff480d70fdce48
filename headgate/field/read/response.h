// What the fields of a response say about rate limits, in whatever dialect, as one view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/field/header_line.h"
#include "headgate/field/read/ignored.h"
#include "headgate/field/read/member.h"

namespace headgate::field {

// The dialects, best first. A response is read in the best that tells something: a malformed field
// of one is as good as none, and the next gets its turn.
enum class Source : std::uint8_t {
  ratelimit,    // RateLimit and RateLimit-Policy as they are now; then Beta-RateLimit, the same
  draft_07,     // RateLimit as a Dictionary, RateLimit-Policy as a List of Integers
  draft_03,     // RateLimit-Limit, -Remaining and -Reset: drafts 00 to 06
  x_ratelimit,  // X-RateLimit-..., then X-Rate-Limit-...
  none,
};

// "ratelimit", "draft-07", "draft-03", "x-ratelimit", "none".
[[nodiscard]] std::string_view name_of(Source source) noexcept;

struct ResponseView {
  Source source = Source::none;
  std::string_view prefix;  // of the names of the source's fields, in lower case: "x-rate-limit-"
  // Current dialect: in the order of RateLimit, each joined with its policy by name and partition
  // key; then the policies that nothing joined. Older ones: the limit in force, then other
  // policies.
  std::vector<Member> members;
  std::optional<std::uint64_t> retry_after;  // [s]
  IgnoredList ignored;                       // by name
  bool cached = false;  // Age > 0: the members would be someone else's, so there are none
};

// `now`: local time of reception [Unix seconds], from which moments count if the response has no
// Date. `trailers`: fields after the body, where only drafts 00 to 06 may be; they count as lines
// after the headers. Allocates, so may throw std::bad_alloc. Time is linear in the input, but for
// sorting names.
[[nodiscard]] ResponseView read_response(std::span<const HeaderLine> headers,
                                         std::optional<std::int64_t> now,
                                         std::span<const HeaderLine> trailers = {});

// The moment that a response counts from: its Date, or else `now`.
[[nodiscard]] std::optional<std::int64_t> time_base(std::span<const HeaderLine> headers,
                                                    std::optional<std::int64_t> now) noexcept;

}  // namespace headgate::field
