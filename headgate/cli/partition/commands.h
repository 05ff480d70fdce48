// headgate peek, reset and why: one partition of a running server.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

[[nodiscard]] std::function<int()> add_peek(CLI::App& headgate);
[[nodiscard]] std::function<int()> add_reset(CLI::App& headgate);
[[nodiscard]] std::function<int()> add_why(CLI::App& headgate);

}  // namespace headgate::cli
