// Reads the rate limit fields of a response, in any dialect, into one view.
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

// The dialects, in order of preference. A response is read in the first one in which it has a
// limit; policies alone are none if another dialect has what is left of one. A malformed field
// counts as absent, so the next dialect is tried.
enum class Source : std::uint8_t {
  ratelimit,    // RateLimit and RateLimit-Policy as they are now; then Beta-RateLimit, the same
  draft_07,     // RateLimit as a Dictionary, RateLimit-Policy as a List of Integers
  draft_03,     // RateLimit-Limit, -Remaining and -Reset: drafts 00 to 06
  x_ratelimit,  // fields that no standard defines, in the order of vendor_prefixes
  none,
};

// "ratelimit", "draft-07", "draft-03", "x-ratelimit", "none".
[[nodiscard]] std::string_view name_of(Source source) noexcept;

// How the names of the fields that no standard defines begin, in order of preference.
inline constexpr std::string_view vendor_prefixes[] = {"x-ratelimit-", "x-rate-limit-",
                                                       "anthropic-ratelimit-", "x-ms-ratelimit-"};

struct ResponseView {
  Source source = Source::none;
  std::string_view prefix;  // of the source's field names, in lower case: "x-rate-limit-"
  // In the current dialect: the members of RateLimit in their order, each joined with its policy by
  // name and partition key; then the policies without a limit. In older dialects: the limit in
  // force, then the other policies.
  std::vector<Member> members;
  std::optional<std::uint64_t> retry_after;  // [s] the longest of Retry-After and in milliseconds
  IgnoredList ignored;                       // sorted by name
  bool cached = false;  // Age > 0: the limits are another request's, so `members` is empty
};

// `now`: local time of reception [Unix seconds], which is used as the response's time if it has no
// Date. `trailers`: fields after the body, in which only the fields of drafts 00 to 06 are read, as
// lines after the headers. May throw std::bad_alloc. Linear time, except for sorting names.
[[nodiscard]] ResponseView read_response(std::span<const HeaderLine> headers,
                                         std::optional<std::int64_t> now,
                                         std::span<const HeaderLine> trailers = {});

// The time from which a response's dates are converted to seconds: its Date, otherwise `now`.
[[nodiscard]] std::optional<std::int64_t> time_base(std::span<const HeaderLine> headers,
                                                    std::optional<std::int64_t> now) noexcept;

}  // namespace headgate::field
