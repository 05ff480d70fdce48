// The version of this program.
#pragma once

namespace headgate::cli {

// Returns what --version prints: the version and the commit, and what the program was built with.
[[nodiscard]] const char* version_text() noexcept;

}  // namespace headgate::cli
