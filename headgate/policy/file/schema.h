// The JSON Schema of policy files, for editors.
#pragma once

#include <string>

namespace headgate::policy {

// Returns the schema (draft 07, which editors and SchemaStore use) of everything that load_text()
// reads, made from the tables of keys.h. It refuses what a schema can refuse: unknown keys and
// words, values of another type or out of range, keys that exclude each other. It cannot compare
// values, such as two names.
[[nodiscard]] std::string schema();

}  // namespace headgate::policy
