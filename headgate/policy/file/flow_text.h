// The value of a YAML node as text on one line.
#pragma once

#include <string>

#include "headgate/policy/file/yaml.h"

namespace headgate::policy {

// Longer texts are cut: they are for display, and aliases can make a small file very long.
inline constexpr std::size_t flow_text_max = 1000;

// Returns a value in YAML's flow style: "[address, header:x-key]" or "{path: /v1/*, method: GET}".
// At most flow_text_max bytes, followed by "..." if the text was cut.
[[nodiscard]] std::string flow_text(const yaml::Node& node);

}  // namespace headgate::policy
