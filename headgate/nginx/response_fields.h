// What the module tells a client of its limits.
#pragma once

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Adds our fields to what the response already says of rate limits. NGX_ERROR: out of memory.
[[nodiscard]] ngx_int_t write_fields(ngx_http_request_t* r, const RequestContext& context) noexcept;

// Takes out of a response from a cache what it says of rate limits: it was true when it was stored.
void drop_stale_fields(ngx_http_request_t* r) noexcept;

}  // namespace headgate::nginx
