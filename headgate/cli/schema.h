// `headgate schema`: prints the JSON Schema of the policy file.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Adds the command to `headgate`. The function returned runs it and returns its exit status.
[[nodiscard]] std::function<int()> add_schema(CLI::App& headgate);

}  // namespace headgate::cli
