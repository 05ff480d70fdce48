// The SPOE door: answers HAProxy's Stream Processing Offload Protocol, version 2.
#pragma once

#include "headgate/server/door.h"

namespace headgate::server {

[[nodiscard]] std::unique_ptr<Door> make_spoe_door(WorkerContext& worker,
                                                   boost::asio::io_context& io,
                                                   const DoorOptions& options);

}  // namespace headgate::server
