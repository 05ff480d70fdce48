// Parsing Structured Fields (RFC 9651, section 4.2) into values.
//
// The input is a field's value; join several lines of one field first. Errors say what was expected
// at which byte of the input. Time and memory are linear in the input, except for sorting keys. May
// throw std::bad_alloc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/field/sf/value.h"

namespace headgate::field::sf {

[[nodiscard]] Result<Item, Error> parse_item(std::string_view input);
[[nodiscard]] Result<List, Error> parse_list(std::string_view input);
[[nodiscard]] Result<Dictionary, Error> parse_dictionary(std::string_view input);

// Joins the lines of a field with ", ", as section 4.2 requires.
[[nodiscard]] std::string joined(std::span<const std::string_view> lines);

}  // namespace headgate::field::sf
