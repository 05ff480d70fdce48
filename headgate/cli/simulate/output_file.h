// Writes a file that is whole or not there.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// Writes the text to a file, which it creates or replaces. If the text could not be written whole,
// removes the file, unless it is a device or a pipe. The error begins with the path.
[[nodiscard]] Result<void, std::string> write_output(const std::string& path,
                                                     std::string_view text);

}  // namespace headgate::cli
