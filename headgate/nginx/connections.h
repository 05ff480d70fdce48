// Bounds the connections that one client can have open at a worker.
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

}  // namespace headgate::nginx
