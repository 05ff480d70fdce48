// The RESP door: decisions for Redis clients.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "headgate/server/door.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Commands and replies: docs/resp.md.
[[nodiscard]] std::unique_ptr<Door> make_resp_door(WorkerContext& worker,
                                                   boost::asio::io_context& io,
                                                   const DoorOptions& options);

}  // namespace headgate::server
