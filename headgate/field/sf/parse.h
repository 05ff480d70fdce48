// Parsing Structured Fields (RFC 9651, section 4.2) into values.
//
// Input is the field's value; several field lines of one name are joined first. Errors say what
// was expected at which byte of the (joined) input. Time is linear in the input (plus sorting its
// keys), memory linear. These functions allocate, so they may throw std::bad_alloc.
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

// Field lines as one value: with ", " between them, as section 4.2 asks.
[[nodiscard]] std::string joined(std::span<const std::string_view> lines);

}  // namespace headgate::field::sf
