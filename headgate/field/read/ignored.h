// Fields of a response that are ignored because they are malformed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headgate/field/read/field_value.h"
#include "headgate/field/sf/value.h"

namespace headgate::field {

struct Ignored {
  std::string name;      // in lower case
  const char* expected;  // static text: "expected a digit"
  std::size_t line;      // index of the line in all headers
  std::size_t offset;    // byte of its value
};

using IgnoredList = std::vector<Ignored>;

// Appends the field to `list` with the position of its fault.
inline void ignore(IgnoredList& list, std::string_view lower_name, const FieldValue& field,
                   const sf::Error& why) {
  const FieldValue::Position position = field.position(why.offset);
  list.push_back({std::string(lower_name), why.what, position.line, position.offset});
}

}  // namespace headgate::field
