// The name of the file for a URL's body.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::cli {

// [bytes] File systems allow 255; this leaves room for what other programs append.
inline constexpr std::size_t file_name_max = 200;

// Returns the last part of the path, with the query. Letters, digits and - _ . , = + @ % ~ stay,
// other characters become '_'. The name never begins with '.' or '-'. A name longer than
// file_name_max is cut, and a hash is appended. A path that ends in '/' gives "index".
[[nodiscard]] std::string file_name_of(std::string_view url);

// Returns `name` with a number, as the second file of one name has it: "a.json", "a-2.json". At
// most file_name_max bytes.
[[nodiscard]] std::string numbered(const std::string& name, std::size_t number);

}  // namespace headgate::cli
