// Which function answers which request of the HTTP door.
#pragma once

#include "headgate/server/http/exchange.h"

namespace headgate::server {

// Answers a request whose head alone is at fault: there is no such path, the path does not allow
// the method, the token is missing, a page of another site made it, or its body is not JSON.
// Returns whether it did; if not, the request's body is to be read and answer() called.
[[nodiscard]] bool refuse(Exchange& exchange);

// Answers a request of which only the head is there, if it is at fault or needs no token. Nobody
// reads the body of one that needs no token, so strangers get no memory for it. Returns whether it
// did; if so, the rest of the input is to be discarded.
[[nodiscard]] bool answer_head(Exchange& exchange);

// Whether the answer may take longer than Turn::short_max.
[[nodiscard]] bool takes_long(const HttpRequest& request) noexcept;

// Answers a request that refuse() did not answer.
void answer(Exchange& exchange);

}  // namespace headgate::server
