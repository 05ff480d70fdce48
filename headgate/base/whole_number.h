// A text that is a decimal integer and nothing else.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace headgate {

// std::nullopt unless all of `text` is an integer in the range of Integer: digits, behind a '-' if
// Integer is signed. No '+', no space.
template <std::integral Integer>
[[nodiscard]] std::optional<Integer> whole_number(std::string_view text) noexcept {
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace headgate
