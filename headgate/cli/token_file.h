// The secret that callers of a server show.
#pragma once

#include <string>

#include "headgate/base/result.h"

namespace headgate::cli {

// The first line of the file: 16 printable ASCII characters at least, without spaces. Errors: a
// sentence that names the file.
[[nodiscard]] Result<std::string, std::string> read_token(const std::string& path);

}  // namespace headgate::cli
