// The gRPC door: Envoy's rate limit service and gRPC's health checks. docs/envoy.md.
#pragma once

#include <memory>
#include <string>

#include "headgate/base/result.h"
#include "headgate/server/door.h"

namespace headgate::server {

// Starts a service that answers until stop(). Errors: a sentence.
[[nodiscard]] Result<std::unique_ptr<Service>, std::string> make_grpc_service(
    Engine& engine, net::Endpoint& endpoint, const DoorOptions& options);

}  // namespace headgate::server
