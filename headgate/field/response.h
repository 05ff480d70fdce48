// What the fields of a response say about rate limits, normalised.
//
// Read so far: RateLimit, RateLimit-Policy and Retry-After. The dialects of older drafts and of
// X-RateLimit are not; a response with only those has no members.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/field/member.h"

namespace headgate::field {

// One field line of a header section, its value without outer whitespace.
struct HeaderLine {
  std::string_view name;
  std::string_view value;
};

enum class Source : std::uint8_t { none, ratelimit };

struct ResponseView {
  Source source = Source::none;
  // In the order of RateLimit, each joined with its policy by name and partition key; then the
  // policies that nothing joined.
  std::vector<Member> members;
  std::optional<std::uint64_t> retry_after;  // [s]
  std::vector<std::string> ignored;          // lower-case names of malformed fields, sorted
  bool cached = false;  // Age > 0: the members would be someone else's, so there are none
};

// `now`: local time of reception [Unix seconds], the base of a Retry-After date when the response
// has no Date. A field with a fault is ignored as a whole and named in `ignored`; the others still
// count. Trailers are not to be passed: the draft wants them ignored. Allocates, so may throw
// std::bad_alloc. Time is linear in the input, but for sorting policies by name.
[[nodiscard]] ResponseView read_response(std::span<const HeaderLine> headers,
                                         std::optional<std::int64_t> now);

}  // namespace headgate::field
