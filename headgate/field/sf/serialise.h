// Serialising Structured Fields (RFC 9651, section 4.1): the canonical text of a value, or why it
// has none. Allocates.
#pragma once

#include <string>

#include "headgate/base/result.h"
#include "headgate/field/sf/value.h"

namespace headgate::field::sf {

[[nodiscard]] Result<std::string, Error> serialise(const Item& item);

// An empty text means that the field is left out.
[[nodiscard]] Result<std::string, Error> serialise(const List& list);
[[nodiscard]] Result<std::string, Error> serialise(const Dictionary& dictionary);

}  // namespace headgate::field::sf
