// For tests: where the repository is that they were built from.
#pragma once

#include <filesystem>

namespace headgate {

[[nodiscard]] std::filesystem::path source_tree();

}  // namespace headgate
