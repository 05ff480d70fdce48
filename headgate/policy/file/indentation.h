// The indentation of YAML lines and their keys, for faults about them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headgate/policy/file/fault.h"

namespace headgate::policy {

struct Misindented {
  Position at;       // the first character of the line's text
  std::string what;  // "'quota' is indented by 3 spaces; expected 4, like 'name' in line 3"
};

// Returns what is wrong with the indentation of a line, counted from 1, at which the text is not
// YAML: that of the most similar key or '-' before it was meant. Returns std::nullopt if the line
// is neither a key nor a '-', or if its indentation is right. `continues`: only if the line before
// it has a key and a value, which a deeper line continues.
[[nodiscard]] std::optional<Misindented> misindented(std::string_view text, std::uint32_t line,
                                                     bool continues);

// Returns the place of a ':' without the space behind it, as in "name:a", if the line before this
// one begins so and this one has a key in the same column, so that both are read as one text.
[[nodiscard]] std::optional<Position> unspaced_colon(std::string_view text, std::uint32_t line);

}  // namespace headgate::policy
