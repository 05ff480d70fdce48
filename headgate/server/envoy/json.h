// POST /json: Envoy's rate limit protocol over HTTP, as envoyproxy/ratelimit has it. docs/envoy.md.
#pragma once

#include "headgate/server/content.h"

namespace headgate::server {

// A RateLimitRequest in protobuf's JSON for a RateLimitResponse in the same: 200 where it admits,
// 429 where it denies, 400 for what can't be decided, 503 where it could not be.
[[nodiscard]] Content envoy_json(Engine& engine, WorkerContext& worker, std::string_view query,
                                 std::string_view body);

}  // namespace headgate::server
