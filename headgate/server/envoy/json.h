// POST /json: Envoy's rate limit protocol over HTTP, as in envoyproxy/ratelimit. docs/envoy.md.
#pragma once

#include "headgate/server/content.h"

namespace headgate::server {

// Reads a RateLimitRequest in protobuf's JSON and answers with a RateLimitResponse in the same
// format. Status: 200 admitted, 429 denied, 400 the request is at fault, 503 memory is short.
[[nodiscard]] FormHandler envoy_json();

}  // namespace headgate::server
