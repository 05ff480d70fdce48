// The rate limit fields of a response.
#pragma once

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Removes the fields that write_fields() added, if the response has them: nginx passes the same
// header section through the filters again, with what another response adds to it, if a filter
// behind this one has refused the first response (416).
void remove_fields(ngx_http_request_t* r, RequestContext& context) noexcept;

// Adds headgate's fields to the response, beside the rate limit fields that upstream sent, or in
// their place. NGX_ERROR: out of memory.
[[nodiscard]] ngx_int_t write_fields(ngx_http_request_t* r, RequestContext& context) noexcept;

// Removes the rate limit fields from a response that comes from a cache: they are stale.
void drop_stale_fields(ngx_http_request_t* r) noexcept;

}  // namespace headgate::nginx
