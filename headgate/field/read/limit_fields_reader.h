// Reading the limit fields, which hold limit, remaining and reset in a field each: those of drafts
// 00 to 06 of draft-ietf-httpapi-ratelimit-headers, and the X-RateLimit fields, which no standard
// defines.
//
//   RateLimit-Limit: 100, 100;w=60          X-RateLimit-Limit: 5000
//   RateLimit-Remaining: 99                 X-RateLimit-Remaining: 4987
//   RateLimit-Reset: 50                     X-RateLimit-Reset: 1700000900
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/field/header_line.h"
#include "headgate/field/read/ignored.h"
#include "headgate/field/read/quota_list_reader.h"
#include "headgate/field/sf/value.h"

namespace headgate::field {

enum class Grammar : std::uint8_t {
  draft,  // Integers; but a reset of 10^9 or more is a Unix time, as GitLab sends
  wild,   // plain numbers, rounded so that the client sends less, and any form of parse_reset()
};

struct LimitFieldsReading {
  std::optional<std::uint64_t> limit;
  std::optional<std::uint64_t> remaining;
  std::optional<std::uint64_t> reset;  // [s]
  std::vector<QuotaPolicy> policies;   // those that follow the limit in its field

  // Whether it describes a limit; a reset alone does not.
  [[nodiscard]] bool has_limit() const noexcept { return limit || remaining; }
};

// Reads the fields `prefix`limit, -remaining and -reset. If limit or remaining is missing, it is
// calculated from -used or -observed; a well-formed -reset-after is used instead of -reset. A field
// that is malformed or repeated is ignored and appended to `ignored`; the others are still read.
// `prefix` is in lower case; `base` as for parse_reset(). May throw std::bad_alloc; linear time.
[[nodiscard]] LimitFieldsReading read_limit_fields(std::span<const HeaderLine> headers,
                                                   std::string_view prefix, Grammar grammar,
                                                   std::optional<std::int64_t> base,
                                                   IgnoredList& ignored);

// Reads a value of Grammar::draft: an Integer >= 0, with any parameters.
[[nodiscard]] Result<std::uint64_t, sf::Error> read_integer(std::string_view value) noexcept;

}  // namespace headgate::field
