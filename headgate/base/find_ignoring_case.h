// Searches for a word in either case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate {

// Where a text has a word, which is not empty, first; npos if nowhere.
[[nodiscard]] constexpr std::size_t find_ignoring_case(std::string_view text,
                                                       std::string_view word) noexcept {
  const auto at = std::search(text.begin(), text.end(), word.begin(), word.end(),
                              [](char a, char b) { return lower(a) == lower(b); });
  return at == text.end() ? text.npos : static_cast<std::size_t>(at - text.begin());
}

}  // namespace headgate
