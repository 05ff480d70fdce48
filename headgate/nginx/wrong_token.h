// Slows down callers that guess the admin token.
#pragma once

#include "headgate/nginx/ngx.h"
#include "headgate/view/page.h"

namespace headgate::nginx {

// Counts and logs a wrong token, answers with `page` after a moment, and closes the connection
// then. A worker answers at most 100 of them per second, from however many connections they come;
// if that takes too long, the connection is closed without an answer. Other requests do not wait.
// Returns what a content handler returns. Throws std::bad_alloc.
[[nodiscard]] ngx_int_t refuse_wrong_token(ngx_http_request_t* r, view::Page page);

}  // namespace headgate::nginx
