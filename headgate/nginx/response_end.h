// When a response is as good as sent.
#pragma once

#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Reads how many unsent bytes the system lets a TCP socket hold. Called when a worker starts:
// later, clients may have used up its descriptors.
void read_unsent_max() noexcept;

// Whether a response ends with its header section, which is about to be sent and which nothing
// holds back.
[[nodiscard]] bool ends_with_header(ngx_http_request_t* r) noexcept;

// Whether nothing of the response is left but `in` and what waits for the connection already, and
// the system takes both at once, however slowly the client reads: no limit_rate, no window of
// HTTP/2, no full socket and no limit of unsent bytes holds them back. false if that is not known.
// REQUIRES: context.body_bytes counts `in` already.
[[nodiscard]] bool is_ending(ngx_http_request_t* r, const RequestContext& context,
                             const ngx_chain_t* in) noexcept;

}  // namespace headgate::nginx
