// headgate_dashboard: the dashboard, and what it and `headgate top` read.
#pragma once

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Whether this location has the directive.
[[nodiscard]] bool has_dashboard(const ngx_http_core_loc_conf_t* location) noexcept;

extern "C" {
// Callback of ngx_command_t.
char* set_dashboard(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
}

}  // namespace headgate::nginx
