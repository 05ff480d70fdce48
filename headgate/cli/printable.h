// Words and bytes for a terminal, whoever made them up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::cli {

// Bytes other than printable ASCII become \xNN, so that nothing can steer a terminal.
[[nodiscard]] std::string printable(std::string_view bytes);

// `text` as a line of at most some hundred columns, and the column in it of one of its bytes, whose
// surroundings stay when the line is too long and is cut.
struct Excerpt {
  std::string text;
  std::size_t column;
};
[[nodiscard]] Excerpt excerpt(std::string_view text, std::size_t offset = 0);

[[nodiscard]] std::string base64(std::string_view bytes);

// "47 s"; from two minutes on "900 s (15 min)", "86383 s (23 h 59 min 43 s)".
[[nodiscard]] std::string seconds_in_words(std::uint64_t seconds);

}  // namespace headgate::cli
