#include "headgate/nginx/send.h"

#include <cstring>

namespace headgate::nginx {

ngx_table_elt_t* add_field(ngx_http_request_t* r, std::string_view name,
                           std::string_view value) noexcept {
  auto* field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (field == nullptr) return nullptr;
  *field = {};
  field->hash = 1;
  field->key = as_ngx_str(name);
  field->value = as_ngx_str(value);
  return field;
}

ngx_int_t send_text(ngx_http_request_t* r, ngx_uint_t status, std::string_view type,
                    std::string_view text) noexcept {
  auto* copy = static_cast<u_char*>(ngx_pnalloc(r->pool, text.size()));
  if (copy == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  std::memcpy(copy, text.data(), text.size());
  ngx_http_complex_value_t body{};
  body.value = {text.size(), copy};
  ngx_str_t content_type = as_ngx_str(type);
  return ngx_http_send_response(r, status, &content_type, &body);
}

}  // namespace headgate::nginx
