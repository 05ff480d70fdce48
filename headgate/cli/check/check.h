// `headgate check`: prints the faults of a policy file, or its policies; and what an nginx.conf
// lets past them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Adds the command. The function it returns runs it with the options that were parsed, and
// returns the exit status.
[[nodiscard]] std::function<int()> add_check(CLI::App& headgate);

}  // namespace headgate::cli
