// Responses whose text the module makes itself.
#pragma once

#include <string_view>

#include "headgate/nginx/ngx.h"
#include "headgate/view/page.h"

namespace headgate::nginx {

// nullptr: out of memory. Name and value last as long as the request.
ngx_table_elt_t* add_field(ngx_http_request_t* r, std::string_view name,
                           std::string_view value) noexcept;

// Responds with a text that is copied. `type` has static storage.
[[nodiscard]] ngx_int_t send_text(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                                  std::string_view text) noexcept;

[[nodiscard]] inline ngx_int_t send_page(ngx_http_request_t* r, const view::Page& page) noexcept {
  return send_text(r, page.status, page.type, page.body);
}

// For a content handler that answers later and returns NGX_DONE. First may_wait(), which discards
// the request's body; false: it failed. Then await_answer(), and answer_awaited() with what a
// content handler would return, from the event loop, unless the request has ended before.
[[nodiscard]] bool may_wait(ngx_http_request_t* r) noexcept;
void await_answer(ngx_http_request_t* r) noexcept;
void answer_awaited(ngx_http_request_t* r, ngx_int_t rc) noexcept;

}  // namespace headgate::nginx
