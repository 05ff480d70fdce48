// The parts of a line of a log, taken from its beginning.
#pragma once

#include <cstdint>
#include <string_view>

#include "headgate/sim/log/entry.h"

namespace headgate::sim {

// Takes a text in quotes, which are not part of it; a backslash lets the next character be any.
// Returns false if there is none.
[[nodiscard]] bool take_quoted(std::string_view& text, std::string_view& out) noexcept;

// Takes a space. Returns false if there is none.
[[nodiscard]] bool take_space(std::string_view& text) noexcept;

// Takes what is before the first space, and the space; all if there is none.
[[nodiscard]] std::string_view take_word(std::string_view& text) noexcept;

// Takes the digits that `text` begins with; false if there are none. Saturates at 2^63.
[[nodiscard]] bool take_number(std::string_view& text, std::uint64_t& value) noexcept;

// The longest duration of a request that is believed [ns]: a day.
inline constexpr std::int64_t took_max = 86'400'000'000'000;

// Of a line that has the begin of a request, in entry.at: it ended so long after that. Returns
// false if that is longer than took_max.
[[nodiscard]] bool end_after(std::uint64_t milliseconds, LogEntry& entry) noexcept;

// Splits "GET /a HTTP/1.1". False unless it begins with a method and a space.
[[nodiscard]] bool split_request(std::string_view request, LogEntry& entry) noexcept;

}  // namespace headgate::sim
