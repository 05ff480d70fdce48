// `headgate top`: a live view of the busiest and most denied partitions of a running server.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Adds the command. The function it returns runs it with the options that were parsed, and
// returns the exit status.
[[nodiscard]] std::function<int()> add_top(CLI::App& headgate);

}  // namespace headgate::cli
