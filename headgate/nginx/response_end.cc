#include "headgate/nginx/response_end.h"

namespace headgate::nginx {
namespace {

// The send buffer of a connection takes about as much at least.
constexpr off_t sent_at_once_max = 64 << 10;  // bytes

struct Rest {
  off_t bytes = 0;
  bool is_last = false;  // the response's last buffer is among them
};

void add(const ngx_chain_t* chain, Rest& rest) noexcept {
  for (const ngx_chain_t* link = chain; link != nullptr; link = link->next) {
    rest.bytes += ngx_buf_size(link->buf);
    rest.is_last = rest.is_last || link->buf->last_buf != 0;
  }
}

}  // namespace

bool ends_with_header(const ngx_http_request_t* r) noexcept {
  const ngx_uint_t status = r->headers_out.status;
  return r->header_only != 0 || r->method == NGX_HTTP_HEAD || status == NGX_HTTP_NO_CONTENT ||
         status == NGX_HTTP_NOT_MODIFIED;
}

bool is_ending(const ngx_http_request_t* r, const RequestContext& context,
               const ngx_chain_t* in) noexcept {
  Rest rest;
  add(r->out, rest);
  add(in, rest);
  // A client that knows the length does not wait for the last buffer, which may come later.
  const off_t length = r->headers_out.content_length_n;
  const bool is_whole = length >= 0 && context.body_bytes >= static_cast<std::uint64_t>(length);
  return (is_whole || rest.is_last) && rest.bytes <= sent_at_once_max;
}

}  // namespace headgate::nginx
