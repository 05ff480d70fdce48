// The gRPC door: Envoy's rate limit service and gRPC's health checks. docs/envoy.md.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "headgate/server/door.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

[[nodiscard]] std::unique_ptr<Door> make_grpc_door(WorkerContext& worker,
                                                   boost::asio::io_context& io,
                                                   const DoorOptions& options);

}  // namespace headgate::server
