// Numbers with units, as the policy file writes them.
//
// Each parser takes the whole text of a value. Its error completes a sentence that starts with
// the value: "is not a duration; expected ...".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {

template <class T>
using Parsed = Result<T, std::string>;

// What parse_duration() reads, in words.
inline constexpr std::string_view duration_words =
    "an integer with a unit ns us ms s m h d w (none: seconds), like 60s";

// Decimal digits alone, min..max.
[[nodiscard]] Parsed<std::uint64_t> parse_integer(std::string_view text, std::uint64_t min,
                                                  std::uint64_t max);

// 0..limit::Quota::units_max.
[[nodiscard]] Parsed<std::uint64_t> parse_units(std::string_view text);

// "60", "60s", "250ms": min..limit::Quota::window_max [ns], in any unit; `min` is 0 or 1.
[[nodiscard]] Parsed<Nanos> parse_duration(std::string_view text, Nanos min = 1);

// "100/minute", "10 per 2 hours", "5/250ms": units and their window.
[[nodiscard]] Parsed<limit::Quota> parse_rate(std::string_view text);

// "65536", "64KiB", "64MiB", "1GiB" [bytes], min..max.
[[nodiscard]] Parsed<std::uint64_t> parse_size(std::string_view text, std::uint64_t min,
                                               std::uint64_t max);

// "20%", 0..max.
[[nodiscard]] Parsed<unsigned> parse_percent(std::string_view text, unsigned max);

// The window of a token bucket of `burst` tokens that gains `count` in each `period`: the time it
// takes to fill, rounded up to a whole second. All > 0.
[[nodiscard]] Parsed<Nanos> bucket_window(std::uint64_t burst, std::uint64_t count, Nanos period);

}  // namespace headgate::policy
