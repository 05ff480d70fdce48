// headgate override: other quotas for single partitions of a running server, at once.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgate::cli {

[[nodiscard]] std::function<int()> add_override(CLI::App& headgate);

}  // namespace headgate::cli
