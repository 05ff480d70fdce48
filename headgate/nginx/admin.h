// What people change and look at while nginx runs, beneath the location of a dashboard: /v1/state
// and /v1/overrides, as docs/server.md has them. Changes need the token of
// headgate_admin_token_file.
#pragma once

#include <optional>
#include <string_view>

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Answers a request of a content handler, if its path is one of these. `prefix` is that of the
// location. std::nullopt: it is another path. Throws std::bad_alloc.
[[nodiscard]] std::optional<ngx_int_t> answer_admin(ngx_http_request_t* r, std::string_view prefix);

extern "C" {
// Callback of ngx_command_t.
char* set_admin_token_file(ngx_conf_t* cf, ngx_command_t* cmd, void* conf) noexcept;
}

}  // namespace headgate::nginx
