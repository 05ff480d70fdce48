// Bounds the connections that one client can have open, and make nginx open, at a worker.
#pragma once

#include "headgate/nginx/conf.h"
#include "headgate/nginx/ngx.h"

namespace headgate::nginx {

// Makes every HTTP listener of `cycle` refuse connections by headgate_connections_per_address of
// its configuration. To be called before the workers start.
//
// nginx's own limit_conn counts a connection once the head of a request has been read. A
// client that sends half of a head is therefore never counted, and can use up all connections of
// the workers.
void bound_connections(ngx_cycle_t* cycle, const MainConf& conf) noexcept;

// Counts a request over HTTP/2 or HTTP/3 until its end, because it may need a connection to an
// upstream as a connection of HTTP/1 may. To be called for main requests, before their location is
// known. Returns false if it is to be refused. After an internal redirect, as to the page of that
// error, returns true.
[[nodiscard]] bool count_stream(ngx_http_request_t* r) noexcept;

}  // namespace headgate::nginx
