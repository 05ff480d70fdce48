// Serialising Structured Fields (RFC 9651, section 4.1): returns the canonical text of a value, or
// why it has none. May throw std::bad_alloc.
#pragma once

#include <string>

#include "headgate/base/result.h"
#include "headgate/field/sf/value.h"

namespace headgate::field::sf {

[[nodiscard]] Result<std::string, Error> serialise(const Item& item);

// If the text is empty, the field must be omitted.
[[nodiscard]] Result<std::string, Error> serialise(const List& list);
[[nodiscard]] Result<std::string, Error> serialise(const Dictionary& dictionary);

}  // namespace headgate::field::sf
