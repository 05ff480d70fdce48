// What the file is called that a URL's body goes to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::cli {

inline constexpr std::size_t file_name_max = 200;  // [bytes]

// The last part of the path with the query: letters, digits and - _ . , = + @ % ~ as they are,
// others as '_'; never hidden, never "." or "..", never longer than file_name_max: of a longer one
// the beginning and a hash. "index" where the path ends in '/'.
[[nodiscard]] std::string file_name_of(std::string_view url);

// The same with a number, for the second, third... of one name: "a.json", "a-2.json". Not longer.
[[nodiscard]] std::string numbered(const std::string& name, std::size_t number);

}  // namespace headgate::cli
