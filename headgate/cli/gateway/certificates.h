// The files with certificates and keys that nginx reads.
#pragma once

#include <string>

#include "headgate/base/result.h"
#include "headgate/cli/gateway/nginx_conf.h"

namespace headgate::cli {

// Reads all of them. The error says which one is wrong. To be called before nginx reads them, which
// waits without end for a named pipe.
[[nodiscard]] Result<void, std::string> check_certificates(const NginxPlan& plan);

}  // namespace headgate::cli
