// The secret that clients of a server send.
#pragma once

#include <string>

#include "headgate/base/result.h"

namespace headgate::cli {

// Returns the first line of the file: at least 16 printable ASCII characters, without spaces.
// Errors: a sentence that names the file.
[[nodiscard]] Result<std::string, std::string> read_token(const std::string& path);

}  // namespace headgate::cli
