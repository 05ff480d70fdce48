// A look at one partition, for people, and giving it a full quota.
#pragma once

#include "headgate/gate/gate.h"
#include "headgate/nginx/ngx.h"
#include "headgate/view/partition_path.h"

namespace headgate::nginx {

// Answers the request of a content handler, which returns what this returns: at once, or when the
// store has answered. Meanwhile the worker does other work. Throws std::bad_alloc.
[[nodiscard]] ngx_int_t inspect(ngx_http_request_t* r, const view::PartitionPath& partition,
                                gate::Refill refill);

}  // namespace headgate::nginx
