// headgate_dashboard: the dashboard, and what it and `headgate top` read.
#pragma once

#include <string_view>

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Responds with a text that is copied. `type` has static storage.
[[nodiscard]] ngx_int_t send_text(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                                  std::string_view text) noexcept;

extern "C" {
// Callback of ngx_command_t.
char* set_dashboard(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
}

}  // namespace headgate::nginx
