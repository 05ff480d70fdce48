// Which known word was probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headgate::policy {

// The nearest of `known` to a misspelt `word`: at most one edit (a letter more, less, other or
// swapped with its neighbour) in three letters, whatever the case. std::nullopt: none is near.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> known);

// "a, b or c".
[[nodiscard]] std::string alternatives(std::span<const std::string_view> words);

// A word from a file or a request, in quotes and fit for a log: bytes beyond printable ASCII as
// \xNN, long ones cut.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace headgate::policy
