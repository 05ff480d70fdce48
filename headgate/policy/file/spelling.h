// Words in error messages: suggestions for misspelt words, lists of words, and quoted texts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headgate::policy {

// Returns the word of `known` that is most similar to a misspelt `word`, ignoring case, or
// std::nullopt if none is similar. Similar means: at most one edit (a letter added, removed,
// changed or swapped with its neighbour) per three letters. An equal word is not misspelt, and is
// no answer.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> known);

// Returns "a, b or c".
[[nodiscard]] std::string alternatives(std::span<const std::string_view> words);

// Returns a text of a file or a request in quotes, safe for a log: bytes that are not printable
// ASCII are written as \xNN, and everything after the first 60 bytes as "...".
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace headgate::policy
