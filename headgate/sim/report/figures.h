// Numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::sim {

// "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

// `part` of `all` as "8.8 %"; never "0 %" or "100 %" where it is not. Of nothing: "0 %".
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t all);

// "250 ms", "1 min", "3 d 11 h": at most two units, the rest dropped.
[[nodiscard]] std::string duration_text(Nanos span);

// "2015-05-17 10:05:03 UTC" of a moment since 1970.
[[nodiscard]] std::string date_text(Instant at, std::string_view otherwise = "?");

// Printable ASCII, other bytes as \xHH; what is longer than `most` characters ends with "...".
[[nodiscard]] std::string printed(std::string_view text, std::size_t most);

// Printable ASCII in quotes; other bytes as \xHH.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace headgate::sim
