// headgate serve: the decision server.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

// As add_check().
[[nodiscard]] std::function<int()> add_serve(CLI::App& headgate);

}  // namespace headgate::cli
