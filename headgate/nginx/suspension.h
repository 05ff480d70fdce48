// A request that waits, for its decision or for its turn, while its worker does other work.
#pragma once

#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Suspends a request of a phase handler, which returns what this returns. If end_suspension() is
// called without an error, `next` continues; it is the same function for all requests. A client
// that leaves ends the request before.
[[nodiscard]] ngx_int_t suspend(ngx_http_request_t* r, ngx_http_event_handler_pt next) noexcept;

// Whether the request is still suspended: nginx may have ended or redirected it.
[[nodiscard]] bool is_suspended(const ngx_http_request_t* r) noexcept;

// Ends the suspension: with `error`, or if that is NGX_OK, with `next` of suspend(). Called by the
// event loop. REQUIRES: is_suspended(r).
void end_suspension(ngx_http_request_t* r, ngx_int_t error) noexcept;

}  // namespace headgate::nginx
