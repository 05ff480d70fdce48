// The HTTP door: forward-auth, /v1/decide, and pages about the server. docs/server.md.
#pragma once

#include <memory>

#include "headgate/server/door.h"

namespace headgate::server {

[[nodiscard]] std::unique_ptr<Door> make_http_door(WorkerContext& worker,
                                                   boost::asio::io_context& io,
                                                   const DoorOptions& options);

}  // namespace headgate::server
