// Finds what lets clients upgrade to another protocol than WebSocket behind nginx. An upgrade to
// HTTP/2 (h2c) opens a connection on which requests pass that nginx neither sees nor counts.
#pragma once

#include <string>
#include <vector>

#include "headgate/cli/check/nginx_conf_reader.h"

namespace headgate::cli {

// Returns a sentence "FILE:LINE: ..." for each `proxy_set_header Upgrade VALUE` whose value may be
// another one than "websocket" or "". Follows the variables of `map` and `set`.
[[nodiscard]] std::vector<std::string> open_upgrades(const std::vector<NginxDirective>& conf);

}  // namespace headgate::cli
