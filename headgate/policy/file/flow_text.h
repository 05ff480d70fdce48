// What a policy file says, on one line.
#pragma once

#include <string>

#include "headgate/policy/file/yaml.h"

namespace headgate::policy {

// A value in YAML's flow style: "[address, header:x-key]", "{path: /v1/*, method: GET}". Meant for
// people; at most flow_text_max bytes, then "...".
[[nodiscard]] std::string flow_text(const yaml::Node& node);

inline constexpr std::size_t flow_text_max = 1000;

}  // namespace headgate::policy
