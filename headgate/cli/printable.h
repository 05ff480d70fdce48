// Untrusted text for a terminal, and numbers as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::cli {

// Bytes other than printable ASCII become \xNN, so that no control sequence reaches a terminal.
[[nodiscard]] std::string printable(std::string_view bytes);

// Returns the part of `text` around the byte at `offset` as printable(), cut to about a hundred
// columns, and the column of that byte.
struct Excerpt {
  std::string text;
  std::size_t column;
};
[[nodiscard]] Excerpt excerpt(std::string_view text, std::size_t offset = 0);

[[nodiscard]] std::string base64(std::string_view bytes);

// "47 s". From two minutes on with larger units: "900 s (15 min)", "86383 s (23 h 59 min 43 s)".
[[nodiscard]] std::string seconds_in_words(std::uint64_t seconds);

}  // namespace headgate::cli
