// Texts of numbers for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/base/instant.h"

namespace headgate::sim {

// "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

// "512 B", "1.5 KiB", "10 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

// Whether this unit of a policy is bytes.
[[nodiscard]] bool is_bytes(std::string_view unit);

// So many units of a policy: "20 requests"; of bytes as bytes_text().
[[nodiscard]] std::string amount(std::uint64_t units, const std::string& unit);

// `part` of `all` as "8.8 %"; "0 %" and "100 %" only if exact. If `all` is 0: "0 %".
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t all);

// "250 ms", "1 min", "3 d 11 h": at most two units, the rest dropped.
[[nodiscard]] std::string duration_text(Nanos span);

// "2015-05-17 10:05:03 UTC" of a moment since 1970.
[[nodiscard]] std::string date_text(Instant at, std::string_view otherwise = "?");

// Printable ASCII, other bytes as \xHH; cut to `most` characters with "..." at the end.
[[nodiscard]] std::string printed(std::string_view text, std::size_t most);

// Printable ASCII in quotes; other bytes as \xHH.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace headgate::sim
