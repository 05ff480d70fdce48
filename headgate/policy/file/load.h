// Reading a policy file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/file/fault.h"
#include "headgate/policy/policy_set.h"

namespace headgate::policy {

using Loaded = Result<std::shared_ptr<const PolicySet>, std::vector<Fault>>;

// Reads and validates a policy file and the files that it names. If anything is wrong, returns
// every fault instead: first those of the policy file, in order of position, then those of the
// other files. Never throws.
[[nodiscard]] Loaded load_file(const std::string& path);

// The same for the text of a policy file. `name` is the file's path: faults show it, and relative
// paths in the text start from its folder.
[[nodiscard]] Loaded load_text(std::string_view yaml, const std::string& name);

}  // namespace headgate::policy
