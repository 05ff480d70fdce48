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
  const char* expected;  // what should have been there: "expected a digit"
  std::size_t line;      // which of the header lines, from 0, and which byte of its value
  std::size_t offset;
};

using IgnoredList = std::vector<Ignored>;

inline void ignore(IgnoredList& list, std::string_view lower_name, const FieldValue& field,
                   const sf::Error& why) {
  const FieldValue::Position position = field.position(why.offset);
  list.push_back({std::string(lower_name), why.what, position.line, position.offset});
}

}  // namespace headgate::field
