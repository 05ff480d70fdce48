// Parsers for numbers with units, as policy files write them.
//
// Each parser takes the whole text of a value. Its error completes a sentence that starts with
// the value: "is not a duration; expected ...".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"
#include "headgate/base/result.h"
#include "headgate/limit/calendar.h"
#include "headgate/limit/quota.h"

namespace headgate::policy {

template <class T>
using Parsed = Result<T, std::string>;

// For error messages: the texts that parse_duration() accepts.
inline constexpr std::string_view duration_words =
    "an integer with a unit ns us ms s m h d w (none: seconds), like 60s";

// Reads decimal digits without a sign, min..max.
[[nodiscard]] Parsed<std::uint64_t> parse_integer(std::string_view text, std::uint64_t min,
                                                  std::uint64_t max);

// The same for files that programs in Go read, too: a number with a 0 in front is octal there, so
// it is an error.
[[nodiscard]] Parsed<std::uint64_t> parse_go_integer(std::string_view text, std::uint64_t min,
                                                     std::uint64_t max);

// Reads an integer, 0..limit::Quota::units_max.
[[nodiscard]] Parsed<std::uint64_t> parse_units(std::string_view text);

// Reads "60", "60s" or "250ms". Returns min..limit::Quota::window_max [ns]; `min` is 0 or 1.
[[nodiscard]] Parsed<Nanos> parse_duration(std::string_view text, Nanos min = 1);

// Returns a span >= 0 [ns] as parse_duration() reads it, in the largest unit that divides it:
// "90s", and "1h" for 3600 s.
[[nodiscard]] std::string duration_text(Nanos span);

// Reads "100/minute", "10 per 2 hours", "1 / Second" or "5/250ms": units and their window. A month
// has 30 days, and a year 12 months, as in python's limits.
[[nodiscard]] Parsed<limit::Quota> parse_rate(std::string_view text);

struct CalendarRate {
  std::uint64_t units = 0;  // 0..limit::Quota::units_max
  limit::CalendarUnit per{};
};

// Reads "5000/month" or "100 per day": units, and one day, week or month.
[[nodiscard]] Parsed<CalendarRate> parse_calendar_rate(std::string_view text);

// Reads "65536", "64KiB", "64MiB" or "1GiB". Returns min..max [bytes].
[[nodiscard]] Parsed<std::uint64_t> parse_size(std::string_view text, std::uint64_t min,
                                               std::uint64_t max);

// Reads "20%". Returns 0..max.
[[nodiscard]] Parsed<unsigned> parse_percent(std::string_view text, unsigned max);

// Returns a token bucket of `burst` tokens that gains `count` tokens per `period` [ns] as a quota.
// Its window is the time in which the empty bucket fills. All arguments > 0.
[[nodiscard]] Parsed<limit::Quota> bucket_quota(std::uint64_t burst, std::uint64_t count,
                                                Nanos period);

}  // namespace headgate::policy
