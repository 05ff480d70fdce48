// The secret that clients of a server send.
#pragma once

#include <optional>
#include <string>

#include "headgate/base/result.h"

namespace headgate::net {

// Returns the first line of the file: at least 16 printable ASCII characters, without spaces. A
// file that any user of the machine can write is an error. Errors: a sentence that names the file.
[[nodiscard]] Result<std::string, std::string> read_token(const std::string& path);

// Returns a sentence if other users of the machine can read this secret.
[[nodiscard]] std::optional<std::string> exposed_secret(const std::string& path);

}  // namespace headgate::net
