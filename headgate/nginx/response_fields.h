// The rate limit fields of a response.
#pragma once

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Returns whether the response has the fields that write_fields() added: nginx may pass the same
// header section through the filters again.
[[nodiscard]] bool has_fields(ngx_http_request_t* r, const RequestContext& context) noexcept;

// Adds headgate's fields to the response, beside the rate limit fields that upstream sent, or in
// their place. NGX_ERROR: out of memory.
[[nodiscard]] ngx_int_t write_fields(ngx_http_request_t* r, RequestContext& context) noexcept;

// Removes the rate limit fields from a response that comes from a cache: they are stale.
void drop_stale_fields(ngx_http_request_t* r) noexcept;

}  // namespace headgate::nginx
