// The problem document (RFC 9457) that a denied client has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::cli {

// Returns its violated-policies, at least one. The error completes a sentence that begins with the
// document's name.
[[nodiscard]] Result<std::vector<std::string>, std::string> violated_policies(
    std::string_view document);

// The same of a file; "-" is standard input. Errors: a sentence.
[[nodiscard]] Result<std::vector<std::string>, std::string> read_violated_policies(
    const std::string& file);

}  // namespace headgate::cli
