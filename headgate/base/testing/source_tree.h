// For tests: the directory of the sources that they were built from.
#pragma once

#include <filesystem>

namespace headgate {

[[nodiscard]] std::filesystem::path source_tree();

}  // namespace headgate
