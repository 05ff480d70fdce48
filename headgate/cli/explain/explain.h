// `headgate explain`: explains the rate limit fields of a response.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Adds the command. The function it returns runs it with the options that were parsed, and
// returns the exit status.
[[nodiscard]] std::function<int()> add_explain(CLI::App& headgate);

}  // namespace headgate::cli
