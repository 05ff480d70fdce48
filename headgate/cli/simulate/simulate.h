// `headgate simulate`: replays recorded traffic through the policies, in its own time.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Adds the command. The function it returns runs it with the options that were parsed, and
// returns the exit status.
[[nodiscard]] std::function<int()> add_simulate(CLI::App& headgate);

}  // namespace headgate::cli
