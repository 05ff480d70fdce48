// The key `include` of a policy file: other files with policies.
#pragma once

#include <string>
#include <vector>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/file/yaml.h"

namespace headgate::policy {

// The most files that a policy file includes: one for each policy that it may have.
inline constexpr std::size_t included_max = 10'000;

// Returns the paths of all files that `include` means, each once: of one pattern after the other,
// and of one pattern in the order of their bytes. Relative patterns start from the folder of
// `policy_file`. A pattern without '*', '?' and '[' means one file, and is returned as it is.
[[nodiscard]] std::vector<std::string> included_files(const yaml::Node& include,
                                                      const std::string& policy_file,
                                                      Faults& faults);

}  // namespace headgate::policy
