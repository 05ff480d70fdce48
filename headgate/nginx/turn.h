// A request that is admitted, but has to wait before it passes (the policy's `delay`).
#pragma once

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Starts the wait of a request whose verdict has one, and which is or is about to be suspended. Its
// end ends the suspension. Returns NGX_OK or an HTTP status.
[[nodiscard]] ngx_int_t await_turn(ngx_http_request_t* r, RequestContext& context) noexcept;

// The request passes, or ends, whether its turn has come or not. Does nothing if it has no wait.
void leave_queue(RequestContext& context) noexcept;

}  // namespace headgate::nginx
