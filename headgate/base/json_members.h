// Members of a JSON object, behind its first one.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/json_text.h"

namespace headgate {

// Appends a comma, the name and a colon.
inline void append_name(std::string& out, std::string_view name) {
  out.push_back(',');
  append_json(out, name);
  out.push_back(':');
}

template <class Value>
void append_member(std::string& out, std::string_view name, const Value& value) {
  append_name(out, name);
  append_json(out, value);
}

// null, unless the value is known.
template <class Value>
void append_member_if(bool known, std::string& out, std::string_view name, const Value& value) {
  if (known) return append_member(out, name, value);
  append_name(out, name);
  out.append("null");
}

}  // namespace headgate
