// headgate simulate --plot: a picture of a trace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"

namespace headgate::cli {

// Replays these files once more, from full quotas, and writes an SVG to `path`. The error names the
// file.
[[nodiscard]] Result<void, std::string> write_plot(
    const std::string& path, const std::shared_ptr<const policy::PolicySet>& policies,
    const std::vector<std::string>& logs);

}  // namespace headgate::cli
