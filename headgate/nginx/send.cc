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

bool may_wait(ngx_http_request_t* r) noexcept {
  return ngx_http_discard_request_body(r) == NGX_OK &&
         ngx_handle_read_event(r->connection->read, 0) == NGX_OK;
}

void await_answer(ngx_http_request_t* r) noexcept {
  ++r->main->count;
  r->read_event_handler = ngx_http_test_reading;  // a client that leaves ends the request
  r->write_event_handler = ngx_http_request_empty_handler;
}

void answer_awaited(ngx_http_request_t* r, ngx_int_t rc) noexcept {
  ngx_connection_t* const connection = r->connection;
  r->read_event_handler = ngx_http_block_reading;
  ngx_http_finalize_request(r, rc);
  ngx_http_run_posted_requests(connection);
}

}  // namespace headgate::nginx
