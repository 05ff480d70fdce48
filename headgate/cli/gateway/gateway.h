// `headgate gateway`: runs nginx with the headgate module in front of one upstream server.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// Adds the command. The function it returns runs it with the options that were parsed, and
// returns the exit status.
[[nodiscard]] std::function<int()> add_gateway(CLI::App& headgate);

}  // namespace headgate::cli
