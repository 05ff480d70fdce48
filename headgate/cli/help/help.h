// `headgate help` and `headgate completion`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Add the command to `headgate`, which must outlive it. Call them after all other commands have
// been added. The functions returned run the command and return its exit status.
[[nodiscard]] std::function<int()> add_help(CLI::App& headgate);
[[nodiscard]] std::function<int()> add_completion(CLI::App& headgate);

}  // namespace headgate::cli
