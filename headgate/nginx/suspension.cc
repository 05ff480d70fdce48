#include "headgate/nginx/suspension.h"

namespace headgate::nginx {
namespace {

// A worker has one handler that decides, so one that continues.
ngx_http_event_handler_pt continue_request = nullptr;

// The write handler of a request that is suspended: there is nothing to write. Whether a request
// has this handler shows whether it is still suspended: nginx replaces it when it ends the request
// or redirects it.
extern "C" void while_waiting(ngx_http_request_t* r) noexcept {
  if (ngx_handle_write_event(r->connection->write, 0) != NGX_OK) {
    ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
  }
}

}  // namespace

ngx_int_t suspend(ngx_http_request_t* r, ngx_http_event_handler_pt next) noexcept {
  ngx_event_t* const read = r->connection->read;
  if (read->ready) {  // maybe the end, if it came with the request; it is not told twice
    ngx_post_event(read, &ngx_posted_events);
  } else if (ngx_handle_read_event(read, 0) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  continue_request = next;
  r->read_event_handler = ngx_http_test_reading;  // a client that leaves ends the request
  r->write_event_handler = while_waiting;
  return NGX_DONE;
}

bool is_suspended(const ngx_http_request_t* r) noexcept {
  return r->write_event_handler == while_waiting;
}

void end_suspension(ngx_http_request_t* r, ngx_int_t error) noexcept {
  ngx_connection_t* const connection = r->connection;
  ngx_http_set_log_request(connection->log, r);
  if (ngx_handle_read_event(connection->read, 0) != NGX_OK) {
    error = NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  r->read_event_handler = ngx_http_block_reading;
  r->write_event_handler = ngx_http_core_run_phases;
  if (error == NGX_OK) {
    continue_request(r);
  } else {
    ngx_http_finalize_request(r, error);
  }
  ngx_http_run_posted_requests(connection);
}

}  // namespace headgate::nginx
