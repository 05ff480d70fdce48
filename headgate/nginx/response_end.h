// When a response is as good as sent.
#pragma once

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Whether a response ends with its header section, which is about to be sent.
[[nodiscard]] bool ends_with_header(const ngx_http_request_t* r) noexcept;

// Whether nothing of the response is left but `in` and what waits for the connection already, and
// both are so short that the connection takes them at once, however slowly the client reads.
// REQUIRES: context.body_bytes counts `in` already.
[[nodiscard]] bool is_ending(const ngx_http_request_t* r, const RequestContext& context,
                             const ngx_chain_t* in) noexcept;

}  // namespace headgate::nginx
